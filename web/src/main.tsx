// Reads the data that is embedded in the page, and renders it.
import { render } from "preact";
import { App } from "./app";
import { parse } from "./data";
import "./style.css";
import "./graph.css";
import "./lists.css";
import "./panel.css";
import "./page.css";

const place = document.getElementById("app")!;
try {
  const report = parse(document.getElementById("anybit-report")!.textContent ?? "");
  document.title = `${report.title()} · anybit report`;
  render(<App report={report} />, place);
} catch (error) {
  place.textContent = `This report cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
}
