// The head of the page: which model and run it is about, search and theme.
import type { ComponentChildren } from "preact";
import type { Report } from "./data";
import type { Theme } from "./theme";

interface Props {
  report: Report;
  theme: Theme;
  onTheme: () => void;
  children: ComponentChildren; // the search
}

export function Top({ report, theme, onTheme, children }: Props) {
  const { data } = report;
  const after = data.after?.file.split(/[\\/]/).pop();
  const next = theme === "dark" ? "Light" : "Dark";
  return (
    <header class="top">
      <div class="title">
        <h1 title={data.before?.file}>{report.title()}</h1>
        <p class="dim">
          {data.command}
          {data.recipe && ` · ${data.recipe}`}
          {after && ` · ${after}`}
          {data.samples ? ` · ${data.samples.toLocaleString("en")} ${data.samples === 1 ? "sample" : "samples"}` : ""}
        </p>
      </div>
      {children}
      <button class="button" onClick={onTheme} aria-label={next} title={next}>
        {theme === "dark" ? "☀" : "☾"}
      </button>
    </header>
  );
}
