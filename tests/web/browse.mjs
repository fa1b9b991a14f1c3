// Opens reports in a real browser. Reads one task per line of standard input and prints one line with the visible results,
// all in JSON. A task: {"page": PATH, "width"?, "height"?, "scheme"?, "steps": [{"do": NAME, …}]}: each step adds its
// answer to the list.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";

const { chromium } = createRequire(new URL("../../web/package.json", import.meta.url))("playwright-core");

// The effect of a key (focus, selection) appears in the next frame.
const settled = (page) => page.evaluate(() => new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50)));
}));

const texts = (page, selector) => page.$$eval(selector, (all) => all.map((one) => (one.innerText ?? one.textContent).trim()));

const steps = {
  tiles: (page) => page.$$eval(".tile", (all) => Object.fromEntries(all.map((one) => {
    const [title, ...rest] = one.innerText.split("\n").map((line) => line.trim()).filter(Boolean);
    return [title, rest.join(" ")];
  }))),
  // From key stroke to the node's panel.
  search: async (page, { text }) => {
    const begin = Date.now();
    await page.keyboard.press("/");
    await page.keyboard.type(text);
    const found = await texts(page, "#found li[role=option]");
    const said = await page.innerText("#found li:last-child");
    await page.keyboard.press("Enter");
    if (found.length > 0) await page.waitForSelector(".details");
    const ms = Date.now() - begin;
    await settled(page);
    return { found, said, ms };
  },
  // The same for a fast typist: the last letter and Enter in one frame.
  searchAtOnce: async (page, { text }) => {
    await page.evaluate(async (wanted) => {
      const input = document.querySelector("[role=combobox]");
      input.focus();
      await new Promise((done) => setTimeout(done, 200));
      input.value = wanted;
      input.dispatchEvent(new Event("input", { bubbles: true }));
      for (let i = 0; i < 20; i += 1) await Promise.resolve(); // drawn, but not painted
      input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    }, text);
    await settled(page);
    return null;
  },
  details: (page) => page.waitForSelector(".details").then((found) => found.evaluate((one) => ({
    op: one.querySelector("h2").innerText,
    name: one.querySelector(".own-name").innerText,
    sqnr: one.querySelector("[data-sqnr]")?.dataset.sqnr,
    plots: one.querySelectorAll(".plot canvas").length,
    text: one.innerText,
  }))),
  tab: async (page, { name }) => { await page.click(`#tab-${name}`); return texts(page, "#panel h3"); },
  rows: (page, { selector }) => texts(page, selector),
  click: async (page, { selector }) => { await page.click(selector); return null; },
  press: async (page, { key }) => { await page.keyboard.press(key); await settled(page); return null; },
  focus: async (page, { selector }) => { await page.focus(selector); return null; },
  open: async (page, { file }) => {
    await page.setInputFiles("input[type=file]", file);
    await page.waitForSelector("table.runs, .error");
    return texts(page, "table.runs tbody tr, .error");
  },
  // Clicks the centre of the first visible node of the drawing.
  clickGraph: async (page, { x, y }) => { await page.locator(".canvas canvas").click({ position: { x, y } }); return null; },
  selected: (page) => texts(page, "[role=option][aria-selected=true]"),
  // Whether the centre of an element becomes visible: on the screen, and not covered.
  inView: (page, { selector }) => page.waitForFunction((wanted) => {
    const one = document.querySelector(wanted);
    if (!one) return false;
    const box = one.getBoundingClientRect();
    const there = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return there !== null && one.contains(there);
  }, selector, { timeout: 5000 }).then(() => true, () => false),
  active: (page) => page.evaluate(() => document.activeElement?.id || document.activeElement?.tagName),
  theme: (page) => page.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]),
  overflow: (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
  // Texts that are truncated, or overflow their row.
  cut: (page, { selector }) => page.$$eval(selector, (all) => all.filter((one) => {
    const row = one.closest(".row") ?? one;
    return one.scrollWidth > one.clientWidth + 1 || row.scrollHeight > row.clientHeight + 1;
  }).map((one) => one.innerText)),
  boxes: (page, { selector }) => page.$$eval(selector, (all) => all.map((one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    return { left, right, top, bottom };
  })),
  drawn: (page) => page.evaluate(() => performance.getEntriesByName("anybit-drawn")[0].startTime),
  inked: (page) => page.$eval(".canvas canvas", (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colors = new Set();
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) colors.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return colors.size;
  }),
  // The longest frame of a drag, in milliseconds.
  drag: async (page) => {
    const box = await page.locator(".canvas canvas").boundingBox();
    await page.evaluate(() => {
      globalThis.frames_seen = [];
      const tick = (now) => { globalThis.frames_seen.push(now); requestAnimationFrame(tick); };
      requestAnimationFrame(tick);
    });
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down();
    for (let i = 1; i <= 20; i += 1) await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2 - 12 * i);
    await page.mouse.up();
    return page.evaluate(() => Math.max(...globalThis.frames_seen.slice(1).map((now, i) => now - globalThis.frames_seen[i])));
  },
  // Size and zoom of the drawing, and how many boxes and frames it has.
  drawing: async (page) => {
    await settled(page);
    return page.$eval(".canvas canvas", ({ dataset }) => Object.fromEntries(Object.entries(dataset).map(([key, value]) => [key, Number(value)])));
  },
  frames: async (page) => { await settled(page); return page.$$eval(".canvas .frame", (all) => all.map((one) => one.textContent)); },
  // Clicks the middle of a box of the drawing.
  clickBox: async (page, { label, double }) => {
    await settled(page);
    const { x, y } = await page.$eval(".canvas canvas", (canvas, wanted) => {
      const box = [...canvas.querySelectorAll(".box")].find((one) => one.textContent === wanted);
      const { x, y, zoom } = canvas.dataset;
      return { x: Number(x) + zoom * box.dataset.x, y: Number(y) + zoom * box.dataset.y };
    }, label);
    const canvas = page.locator(".canvas canvas");
    await (double ? canvas.dblclick({ position: { x, y } }) : canvas.click({ position: { x, y } }));
    await settled(page);
    return null;
  },
  bars: (page, { selector }) => page.$$eval(selector, (all) => all.map((one) => ({
    noise: Number(one.dataset.noise), width: one.getBoundingClientRect().width,
  }))),
  // The colours of the legend, and of the formats in the file.
  legend: (page) => page.evaluate(() => {
    const colors = (selector) => Object.fromEntries([...document.querySelectorAll(selector)].map((one) => [
      one.innerText.trim().replace(/\s+\S+( [KMG]?i?B)?$/, ""), getComputedStyle(one.querySelector("i")).backgroundColor,
    ]));
    return { ...colors(".legend li"), tile: colors(".mixlegend span") };
  }),
  pixels: (page, { selector }) => page.$eval(selector, (canvas) => {
    const { width, height, data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return { width, height, data: [...data] };
  }),
  choose: async (page, { selector, value }) => { await page.selectOption(selector, value); await settled(page); return null; },
  wait: async (page, { ms }) => { await page.waitForTimeout(ms); return null; },
  screenshot: async (page, { path }) => { await page.screenshot({ path }); return path; },
};

async function look(browser, task) {
  const page = await browser.newPage({
    viewport: { width: task.width ?? 1280, height: task.height ?? 860 }, colorScheme: task.scheme ?? "light",
  });
  try {
    const errors = [];
    const requests = [];
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => { if (message.type() === "error") errors.push(message.text()); });
    page.on("request", (request) => { if (!/^(data|blob):/.test(request.url())) requests.push(request.url()); });
    await page.goto(pathToFileURL(task.page).href);
    await page.waitForFunction(() => performance.getEntriesByName("anybit-drawn").length > 0 || !document.querySelector(".tiles"));
    const answers = [];
    for (const step of task.steps) answers.push(await steps[step.do](page, step));
    const others = requests.filter((url) => !url.startsWith("file:") || fileURLToPath(url) !== task.page);
    return { answers, errors, others };
  } finally {
    await page.close();
  }
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
for await (const line of createInterface({ input: process.stdin })) {
  const answer = await look(browser, JSON.parse(line)).catch((error) => ({ failed: String(error) }));
  console.log(JSON.stringify(answer));
}
await browser.close();
