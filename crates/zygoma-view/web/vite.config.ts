import { defineConfig } from "vite";
import { plainDecoder } from "./decoder";

/** While the page is being worked on: `ZYGOMA_VIEW=<address that zygoma view --no-open printed> npm run dev`. */
declare const process: { env: Record<string, string | undefined> };
const server = new URL(process.env["ZYGOMA_VIEW"] ?? "http://127.0.0.1:7423/");

/** The server answers to its own page only, so the development server speaks in that page's name. */
const asOwnPage = {
  target: server.origin,
  changeOrigin: true,
  headers: { origin: server.origin },
  rewrite: (path: string) => server.pathname.replace(/\/$/, "") + path,
};

export default defineConfig({
  base: "./",
  plugins: [plainDecoder()],
  build: {
    target: "es2022",
    outDir: "dist",
    // The renderer is one piece of about this size.
    chunkSizeWarningLimit: 1200,
    modulePreload: { polyfill: false },
  },
  // Its files are found by their own addresses, which bundling for development would change.
  optimizeDeps: { exclude: ["three", "three-mesh-bvh"] },
  server: {
    proxy: {
      "/socket": { ...asOwnPage, ws: true },
      "/upload": asOwnPage,
      "/download": asOwnPage,
    },
  },
});
