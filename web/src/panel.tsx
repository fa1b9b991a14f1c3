// The panel beside the network; on a phone a sheet over the page.
import type { ComponentChildren } from "preact";

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

export function Panel({ title, onClose, children }: Props) {
  return (
    <aside class="details" aria-label="The selected node">
      <header>
        <h2>{title}</h2>
        <button class="button" aria-label="Close" title="Close (Escape)" onClick={onClose}>
          ×
        </button>
      </header>
      <div class="contents">{children}</div>
    </aside>
  );
}

// A row of a list of facts; nothing if the fact is unknown.
export function Fact({ name, title, children }: { name: string; title?: string; children: ComponentChildren }) {
  if (children === undefined || children === "" || children === null) return null;
  return (
    <>
      <dt title={title}>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
