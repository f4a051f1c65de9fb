import { defineConfig } from "vite";
import { plainDecoder } from "./decoder";

/** While the page is being worked on: `npm run dev` beside a running `zygoma view --no-open`. */
const server = "http://127.0.0.1:7423";

/** The server answers to its own page only, so the development server speaks in that page's name. */
const asOwnPage = { target: server, changeOrigin: true, headers: { origin: server } };

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
