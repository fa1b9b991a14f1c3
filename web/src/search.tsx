// The search field and its results.
import type { RefObject } from "preact";
import { useState } from "preact/hooks";
import type { Report } from "./data";
import { decibels } from "./format";

interface Props {
  report: Report;
  input: RefObject<HTMLInputElement | null>;
  query: string;
  matches: Set<number> | undefined;
  onQuery: (query: string) => void;
  onPick: (node: number) => void;
}

const MOST = 12; // results in the list

export function Search({ report, input, query, matches, onQuery, onPick }: Props) {
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const found = matches ? [...matches].slice(0, MOST) : [];
  const pick = (index: number): void => {
    setOpen(false);
    input.current?.blur();
    onPick(index);
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === "Escape") {
      onQuery("");
      setOpen(false);
      input.current?.blur();
    }
    if (event.key === "Enter" && found[at] !== undefined) pick(found[at]);
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step && found.length) {
      event.preventDefault();
      setAt((at + step + found.length) % found.length);
    }
  };
  return (
    <div class="search">
      <input
        ref={input}
        type="text"
        role="combobox"
        aria-expanded={open && found.length > 0}
        aria-controls="found"
        aria-label="Search nodes"
        placeholder="Search nodes  ( / )"
        value={query}
        onFocus={() => setOpen(true)}
        onBlur={() => setTimeout(() => setOpen(false), 150)}
        onKeyDown={key}
        onInput={(event) => {
          onQuery(event.currentTarget.value);
          setAt(0);
          setOpen(true);
        }}
      />
      {open && matches && (
        <ul id="found" role="listbox" aria-label="Found">
          {found.map((index, i) => {
            const node = report.data.nodes[index]!;
            return (
              <li
                key={index}
                role="option"
                aria-selected={i === at}
                onMouseDown={(event) => {
                  event.preventDefault();
                  pick(index);
                }}
              >
                <b>{node.op}</b> <span class="name">{node.name || node.out[0]}</span>{" "}
                <span class="dim">
                  {report.sqnr(node) === undefined ? "" : decibels(report.sqnr(node))}
                </span>
              </li>
            );
          })}
          <li class="dim">
            {matches.size === 0
              ? "nothing found"
              : matches.size > MOST
                ? `${(matches.size - MOST).toLocaleString("en")} more`
                : `${matches.size} found`}
          </li>
        </ul>
      )}
    </div>
  );
}
