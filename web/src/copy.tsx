// A button that copies a text.
import { useState } from "preact/hooks";

// Pages from disk may not have the clipboard's interface; then a selected text is copied, as by a key.
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.appendChild(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function Copy({ text, label = "Copy", title }: { text: string; label?: string; title?: string }) {
  const [done, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    setDone(await copied(text));
    setTimeout(() => setDone(false), 1200);
  };
  return (
    <button class="button small copy" title={title ?? `Copy ${text}`} onClick={() => void copy()}>
      {done ? "Copied" : label}
    </button>
  );
}
