// The page: the verdict, tabs, search, the panel of what is selected, and further reports.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { parseFile, type Report } from "./data";
import { GraphView } from "./graph_view";
import { GroupPanel } from "./group_panel";
import { isQuantized } from "./harm";
import { outputLabel } from "./judged";
import { Layers } from "./layers";
import { Left } from "./left";
import { NodePanel } from "./node_panel";
import { Outputs } from "./outputs";
import { leadingTo } from "./leading";
import type { Rule } from "./recipe";
import { RecipeView } from "./recipe_view";
import { Remarks } from "./remarks";
import { Runs } from "./runs";
import { Search } from "./search";
import type { Selection } from "./selection";
import { Summary } from "./summary";
import { Sweep } from "./sweep";
import { Tabs, tabsOf, type Tab } from "./tabs";
import { Tensors } from "./tensors";
import { useTheme } from "./theme";
import { Tiles } from "./tiles";
import { Top } from "./top";
import { Training } from "./training";
import { treeOf } from "./tree";

export function App({ report }: { report: Report }) {
  const [theme, toggle] = useTheme();
  const tabs = tabsOf(report);
  const outputs = report.data.comparison ? (report.data.outputs ?? []) : [];
  const [tab, setTab] = useState<Tab>(tabs[0]!);
  const [selected, setSelected] = useState<Selection>();
  const [opened, setOpened] = useState<Set<string>>();
  const [value, setValue] = useState<string>();
  const [query, setQuery] = useState("");
  const [others, setOthers] = useState<Report[]>([]);
  const [rules, setRules] = useState<Rule[]>([]);
  const [output, setOutput] = useState<string>();
  const [error, setError] = useState<string>();
  const search = useRef<HTMLInputElement>(null);
  const found = useRef(false); // by the search, and not focused yet
  const tree = useMemo(() => treeOf(report), [report]);
  const group = selected?.group === undefined ? undefined : tree.groups.get(selected.group);
  const node = selected?.node;

  const matches = useMemo(() => {
    const wanted = query.trim().toLowerCase();
    if (!wanted) return undefined;
    const matching = new Set<number>();
    report.data.nodes.forEach((one, i) => {
      if (`${one.name} ${one.op} ${one.out.join(" ")} ${one.to ?? ""}`.toLowerCase().includes(wanted)) matching.add(i);
    });
    return matching;
  }, [report, query]);
  const leading = useMemo(() => (output === undefined ? undefined : leadingTo(report, output)), [report, output]);

  const select = (next: Selection | undefined): void => {
    setSelected(next);
    if (next?.node !== undefined)
      setValue(report.data.nodes[next.node]!.out.find((name) => report.layer(name) ?? report.tensor(name)));
  };
  const pickValue = (name: string): void => {
    setValue(name);
    const index = report.maker.get(name) ?? report.users.get(name)?.[0];
    if (index !== undefined) setSelected({ node: index });
  };
  const setRule = (names: string[], scheme: string | undefined): void =>
    setRules((now) => [
      ...now.filter((rule) => !names.includes(rule.name)),
      ...(scheme === undefined ? [] : names.map((name) => ({ name, scheme }))),
    ]);
  const open = async (files: File[]): Promise<void> => {
    for (const file of files) {
      try {
        const other = parseFile(await file.text());
        setOthers((now) => [...now, other]);
        setError(undefined);
      } catch {
        setError(`${file.name} is not an anybit report`);
      }
    }
    if (files.length > 0) setTab("runs");
  };

  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      const typing = event.target instanceof HTMLInputElement && event.target.type !== "checkbox";
      if (event.key === "/" && !typing) {
        event.preventDefault();
        search.current?.focus();
      }
      if (event.key === "Escape" && !typing) setSelected(undefined);
    };
    const over = (event: DragEvent): void => event.preventDefault();
    const drop = (event: DragEvent): void => {
      event.preventDefault();
      void open([...(event.dataTransfer?.files ?? [])]);
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
    document.querySelector<HTMLElement>("#panel .canvas canvas[tabindex], #panel .list, .details button")?.focus();
  });
  // On a phone the panel covers the lower half: what was chosen moves into the upper one.
  useLayoutEffect(() => {
    if (selected && window.matchMedia("(max-width: 760px)").matches)
      document.querySelector("main")!.scrollIntoView({ block: "start" });
  }, [selected !== undefined]);

  const left = report.data.nodes.filter((one) => one.outcome === "float").length;
  const counts: Partial<Record<Tab, number>> = {
    layers: report.layers.length,
    tensors: report.data.tensors.length + report.weights.length,
    ...(report.data.after ? { left } : {}),
    ...(rules.length > 0 ? { recipe: rules.length } : {}),
    ...(others.length > 0 ? { runs: others.length + 1 } : {}),
  };
  const close = (): void => setSelected(undefined);

  return (
    <>
      <Top report={report} theme={theme} onTheme={toggle}>
        <Search
          report={report}
          input={search}
          query={query}
          matches={matches}
          onQuery={setQuery}
          onPick={(index) => {
            found.current = true;
            setQuery("");
            select({ node: index });
            if (!["graph", "layers", "tensors"].includes(tab)) setTab("graph");
          }}
        />
      </Top>
      <Summary
        report={report}
        onSelect={(next) => {
          select(next);
          setTab("graph");
        }}
        onExclude={(nodes) => {
          setRule(nodes.filter((i) => isQuantized(report.data.nodes[i]!)).map((i) => report.data.nodes[i]!.name), "float");
          setTab("recipe");
        }}
        onOutputs={() => setTab("outputs")}
      />
      <Tiles report={report} />
      <Remarks report={report} />
      <Tabs
        tabs={tabs}
        tab={tab}
        counts={counts}
        outputs={outputs.map((name) => ({ name, label: outputLabel(report, name) }))}
        output={output}
        onTab={setTab}
        onOutput={setOutput}
      />
      <main class={selected !== undefined ? "with-details" : ""}>
        <div class="main" id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
          {tab === "sweep" && <Sweep report={report} />}
          {tab === "graph" && (
            <GraphView
              report={report}
              tree={tree}
              selected={selected}
              matches={matches}
              leading={leading}
              open={opened}
              theme={theme}
              onSelect={select}
              onOpen={setOpened}
            />
          )}
          {tab === "layers" && (
            <Layers
              report={report}
              others={others}
              leading={leading}
              matches={matches}
              selected={value}
              theme={theme}
              onSelect={pickValue}
            />
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
          {tab === "left" && (
            <Left report={report} selected={node} query={query} onSelect={(index) => select({ node: index })} />
          )}
          {tab === "training" && <Training report={report} theme={theme} />}
          {tab === "outputs" && <Outputs report={report} output={output} />}
          {tab === "recipe" && (
            <RecipeView
              report={report}
              rules={rules}
              onRemove={(name) => setRule([name], undefined)}
              onClear={() => setRules([])}
            />
          )}
          {tab === "runs" && (
            <Runs
              report={report}
              others={others}
              error={error}
              selected={value}
              onOpen={(files) => void open(files)}
              onClose={(index) => setOthers(others.filter((_, i) => i !== index))}
              onSelect={pickValue}
            />
          )}
        </div>
        {node !== undefined && (
          <NodePanel
            key={node}
            report={report}
            others={others}
            node={node}
            rules={rules}
            theme={theme}
            onSelect={select}
            onRule={(name, scheme) => setRule([name], scheme)}
            onClose={close}
          />
        )}
        {group && (
          <GroupPanel
            key={group.key}
            report={report}
            tree={tree}
            group={group}
            rules={rules}
            onSelect={select}
            onRules={setRule}
            onClose={close}
          />
        )}
      </main>
      <footer class="dim">
        anybit {report.data.anybit} · <kbd>/</kbd> searches, arrows move, <kbd>Enter</kbd> opens a module, <kbd>Esc</kbd>{" "}
        closes
      </footer>
    </>
  );
}
