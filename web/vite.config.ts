// One HTML file with everything inside. `make web` copies it to web/report.html, which the library carries.
import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

export default defineConfig({
  plugins: [viteSingleFile()],
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: { target: "es2020", outDir: "../build/web", emptyOutDir: true, modulePreload: false },
});
