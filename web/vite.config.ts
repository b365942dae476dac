import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// The bundle goes into the Python package, which serves it. In development, `npm run dev` asks a Studio
// that was started with `lass studio FOLDER --port 8765 --no-browser` (give the page its token).
export default defineConfig({
  plugins: [svelte()],
  base: "./", // a proxy may serve the pages below a path of its own
  build: {
    outDir: "../src/lass/studio/static",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8765" } },
  test: { include: ["src/**/*.test.ts"] },
});
