import { expect, it } from "vitest";
import { tokenIn } from "./token";

const TOKEN = "0123456789abcdef0123456789abcdef";

it("is found alone and in an address", () => {
  expect(tokenIn(` ${TOKEN}\n`)).toBe(TOKEN);
  expect(tokenIn(`http://127.0.0.1:8765/?token=${TOKEN}`)).toBe(TOKEN);
  expect(tokenIn(`https://there/tags/?a=b&token=${TOKEN}#/items/3`)).toBe(TOKEN);
});

it("is not seen in what is none", () => {
  for (const text of ["", "token", TOKEN.slice(1), `${TOKEN}0`, TOKEN.toUpperCase()]) expect(tokenIn(text)).toBeNull();
});
