// One HTML file with everything inside. `make web` copies it to web/report.html, which the library carries.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

// The page runs its own script and style, known by their hashes, and nothing else: no other script, wherever a report's
// data may put one, and no address to send anything to. The data themselves are no script.
function contentSecurityPolicy(): Plugin {
  return {
    name: "content-security-policy",
    // Once all is in one file.
    writeBundle(options) {
      const path = `${options.dir}/index.html`;
      const page = readFileSync(path, "utf8");
      const inside = (tag: RegExp) => [...page.matchAll(tag)].map((found) => hash(found[1]!)).join(" ");
      const policy = [
        "default-src 'none'",
        `script-src ${inside(/<script type="module"[^>]*>([^]*?)<\/script>/g)}`,
        `style-src ${inside(/<style[^>]*>([^]*?)<\/style>/g)}`,
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
      ];
      const tag = `<meta http-equiv="Content-Security-Policy" content="${policy.join("; ")}" />`;
      writeFileSync(path, page.replace('<meta charset="utf-8" />', (charset) => `${charset}\n    ${tag}`));
    },
  };
}

export default defineConfig({
  plugins: [viteSingleFile(), contentSecurityPolicy()],
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: { target: "es2020", outDir: "../build/web", emptyOutDir: true, modulePreload: false },
});
