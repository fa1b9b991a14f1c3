// Lays out the network of a report (JSON, the first argument) with all its modules closed, some open, and all open. Prints, as
// JSON, for each drawing: boxes, pairs of boxes that overlap, and edges that pass through a box.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const { buildSync } = createRequire(new URL("../../web/package.json", import.meta.url))("esbuild");
const sources = fileURLToPath(new URL("../../web/src", import.meta.url));
const code = buildSync({
  stdin: {
    contents: `export { parse } from "./data"; export { treeOf, openAtFirst } from "./tree"; export { layoutOf } from "./layout";`,
    resolveDir: sources,
  },
  bundle: true, format: "esm", platform: "node", write: false,
}).outputFiles[0].text;
const { parse, treeOf, openAtFirst, layoutOf } = await import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`);

// Points on the path of an edge, as the page draws it: lines, and curves with vertical ends.
function* pointsOn({ points }) {
  for (let i = 1; i < points.length; i += 1) {
    const [[ax, ay], [bx, by]] = [points[i - 1], points[i]];
    for (let step = 0; step <= 12; step += 1) {
      const u = step / 12;
      const curved = ax !== bx && by > ay;
      const [along, down] = curved ? [u * u * (3 - 2 * u), halfway(u)] : [u, u];
      yield [ax + (bx - ax) * along, ay + (by - ay) * down];
    }
  }
}
// The height on a cubic curve whose control points are halfway down.
const halfway = (u) => 1.5 * (1 - u) ** 2 * u + 1.5 * (1 - u) * u ** 2 + u ** 3;

const within = (box, [x, y]) => Math.abs(box.x - x) < box.width / 2 - 2 && Math.abs(box.y - y) < box.height / 2 - 2;
const overlap = (a, b) => Math.abs(a.x - b.x) < (a.width + b.width) / 2 - 1 && Math.abs(a.y - b.y) < (a.height + b.height) / 2 - 1;

const tree = treeOf(parse(readFileSync(process.argv[2], "utf8")));
const drawings = [new Set(), openAtFirst(tree, 40), new Set(tree.groups.keys())].map((open) => {
  const { boxes, edges } = layoutOf(tree, open, 2.4);
  return {
    boxes: boxes.length,
    overlaps: boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => overlap(a, b))).length,
    through: edges.filter((edge) => !edge.far && [...pointsOn(edge)].some((point) => boxes.some((box) => within(box, point)))).length,
  };
});
console.log(JSON.stringify(drawings));
