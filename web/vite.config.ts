// Builds one self-contained HTML file. `make web` copies it to web/report.html, which is embedded in the library.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

// The policy allows only the page's own script and style, by hash: no injected script, whatever a report's data hold,
// and no network requests. The embedded data is not a script.
function contentSecurityPolicy(): Plugin {
  return {
    name: "content-security-policy",
    // After everything is inlined into one file.
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
