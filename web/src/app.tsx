// The page: summary, tabs, search, details of the selected node, theme, and a second report.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { parseFile, type Report } from "./data";
import { Details } from "./details";
import { GraphView } from "./graph_view";
import { Layers } from "./layers";
import { Left } from "./left";
import { Runs, runName } from "./runs";
import { Search } from "./search";
import { Tensors } from "./tensors";
import { Tiles } from "./tiles";
import { VerdictBanner } from "./verdict_banner";

const TABS = ["graph", "layers", "tensors", "left", "runs"] as const;
type Tab = (typeof TABS)[number];
const NAMES: Record<Tab, string> = {
  graph: "Graph",
  layers: "Layers",
  tensors: "Tensors",
  left: "Left in float",
  runs: "Two reports",
};

// The theme: the user's choice, by default the system's.
function useTheme(): [string, () => void] {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const [dark, setDark] = useState(system.matches);
  useEffect(() => {
    const follow = (): void => setDark(system.matches);
    system.addEventListener("change", follow);
    return () => system.removeEventListener("change", follow);
  }, []);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  return [dark ? "dark" : "light", () => setDark(!dark)];
}

export function App({ report }: { report: Report }) {
  const [theme, toggle] = useTheme();
  const [tab, setTab] = useState<Tab>("graph");
  const [node, setNode] = useState<number>();
  const [value, setValue] = useState<string>();
  const [query, setQuery] = useState("");
  const [other, setOther] = useState<Report>();
  const [error, setError] = useState<string>();
  const search = useRef<HTMLInputElement>(null);
  const found = useRef(false); // by the search, and not focused yet

  const matches = useMemo(() => {
    const wanted = query.trim().toLowerCase();
    if (!wanted) return undefined;
    const found = new Set<number>();
    report.data.nodes.forEach((one, i) => {
      if (`${one.name} ${one.op} ${one.out.join(" ")} ${one.to ?? ""}`.toLowerCase().includes(wanted))
        found.add(i);
    });
    return found;
  }, [report, query]);

  const pickNode = (index: number | undefined): void => {
    setNode(index);
    if (index !== undefined)
      setValue(report.data.nodes[index]!.out.find((name) => report.layer(name) ?? report.tensor(name)));
  };
  const pickValue = (name: string): void => {
    setValue(name);
    const index = report.maker.get(name) ?? report.users.get(name)?.[0];
    if (index !== undefined) setNode(index);
  };
  const open = async (file: File): Promise<void> => {
    try {
      setOther(parseFile(await file.text()));
      setError(undefined);
      setTab("runs");
    } catch {
      setError(`${file.name} is not an anybit report`);
      setTab("runs");
    }
  };

  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      const typing = event.target instanceof HTMLInputElement && event.target.type !== "checkbox";
      if (event.key === "/" && !typing) {
        event.preventDefault();
        search.current?.focus();
      }
      if (event.key === "Escape" && !typing) setNode(undefined);
    };
    const over = (event: DragEvent): void => event.preventDefault();
    const drop = (event: DragEvent): void => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) void open(file);
    };
    window.addEventListener("keydown", key);
    window.addEventListener("dragover", over);
    window.addEventListener("drop", drop);
    return () => {
      window.removeEventListener("keydown", key);
      window.removeEventListener("dragover", over);
      window.removeEventListener("drop", drop);
    };
  }, []);

  // Moves the focus to the found node once it is drawn or listed. A plain effect could run late, after an
  // earlier render, and focus a list that is about to be removed.
  useLayoutEffect(() => {
    if (!found.current) return;
    found.current = false;
    document.querySelector<HTMLElement>("#panel canvas[tabindex], #panel .list, .details button")?.focus();
  });

  const moveTab = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length]!;
    setTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  const left = report.data.nodes.filter((one) => one.outcome === "float").length;
  const counts: Partial<Record<Tab, number>> = {
    layers: report.layers.length,
    tensors: report.data.tensors.length + report.weights.length,
    ...(report.data.after ? { left } : {}),
  };
  const after = report.data.after?.file.split(/[\\/]/).pop();

  return (
    <>
      <header class="top">
        <div class="title">
          <h1 title={report.data.before?.file}>{report.title()}</h1>
          <p class="dim">
            {report.data.command}
            {report.data.recipe && ` · ${report.data.recipe}`}
            {after && ` · ${after}`}
            {report.data.samples
              ? ` · ${report.data.samples.toLocaleString("en")} ${report.data.samples === 1 ? "sample" : "samples"}`
              : ""}
          </p>
        </div>
        <Search
          report={report}
          input={search}
          query={query}
          matches={matches}
          onQuery={setQuery}
          onPick={(index) => {
            found.current = true;
            setQuery("");
            pickNode(index);
            if (tab === "runs" || tab === "left") setTab("graph");
          }}
        />
        <button
          class="button"
          onClick={toggle}
          aria-label={theme === "dark" ? "Light" : "Dark"}
          title={theme === "dark" ? "Light" : "Dark"}
        >
          {theme === "dark" ? "☀" : "☾"}
        </button>
      </header>
      <VerdictBanner report={report} />
      <Tiles report={report} />
      {(report.data.remarks ?? []).length > 0 && (
        <details class="remarks">
          <summary>
            {report.data.remarks!.length} {report.data.remarks!.length === 1 ? "remark" : "remarks"}
          </summary>
          <ul>
            {report.data.remarks!.map((remark) => (
              <li key={remark}>{remark}</li>
            ))}
          </ul>
        </details>
      )}
      <div class="tabs" role="tablist" onKeyDown={moveTab}>
        {TABS.map((one) => (
          <button
            key={one}
            id={`tab-${one}`}
            role="tab"
            aria-selected={tab === one}
            aria-controls="panel"
            tabIndex={tab === one ? 0 : -1}
            onClick={() => setTab(one)}
          >
            {NAMES[one]}
            {counts[one] !== undefined && <small>{counts[one]!.toLocaleString("en")}</small>}
            {one === "runs" && other && <small>{runName(other)}</small>}
          </button>
        ))}
      </div>
      <main class={node !== undefined ? "with-details" : ""}>
        <div class="main" id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
          {tab === "graph" && (
            <GraphView report={report} selected={node} matches={matches} theme={theme} onSelect={pickNode} />
          )}
          {tab === "layers" && (
            <Layers report={report} other={other} selected={value} theme={theme} onSelect={pickValue} />
          )}
          {tab === "tensors" && (
            <Tensors
              report={report}
              selected={value}
              node={node}
              query={query}
              matches={matches}
              theme={theme}
              onSelect={pickValue}
            />
          )}
          {tab === "left" && <Left report={report} selected={node} query={query} onSelect={pickNode} />}
          {tab === "runs" && (
            <Runs
              report={report}
              other={other}
              error={error}
              selected={value}
              onOpen={(file) => void open(file)}
              onClose={() => setOther(undefined)}
              onSelect={pickValue}
            />
          )}
        </div>
        {node !== undefined && (
          <Details
            key={node}
            report={report}
            other={other}
            node={node}
            theme={theme}
            onSelect={pickNode}
            onClose={() => setNode(undefined)}
          />
        )}
      </main>
      <footer class="dim">
        anybit {report.data.anybit} · <kbd>/</kbd> searches, arrows move, <kbd>Esc</kbd> closes
      </footer>
    </>
  );
}
