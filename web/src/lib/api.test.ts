import { afterEach, expect, test, vi } from "vitest";
import * as api from "./api";

const reply = (answer: () => Promise<Response>) => vi.stubGlobal("fetch", answer);

afterEach(() => vi.unstubAllGlobals());

test("a request without an answer says so", async () => {
  reply(() => Promise.reject(new TypeError("Failed to fetch")));
  await expect(api.state()).rejects.toThrow("The Studio does not answer");
});

test("so does an answer that breaks off halfway", async () => {
  const broken = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"na'));
      controller.error(new TypeError("Failed to fetch"));
    },
  });
  reply(() => Promise.resolve(new Response(broken, { status: 200 })));
  await expect(api.state()).rejects.toThrow("The Studio does not answer");
});

test("a refusal carries the Studio's own message", async () => {
  reply(() => Promise.resolve(new Response('{"error": "No such tag."}', { status: 404 })));
  await expect(api.tags()).rejects.toMatchObject({ message: "No such tag.", status: 404 });
});
