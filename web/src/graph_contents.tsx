// What the canvas shows, as elements: for assistive technology, which cannot see a canvas.
import type { Drawing } from "./layout";
import type { Selection } from "./selection";
import type { Group } from "./tree";

interface Props {
  drawing: Drawing;
  onSelect: (selection: Selection) => void;
  onToggle: (group: Group) => void;
}

const MOST = 300; // boxes; in larger drawings the search finds nodes

export function GraphContents({ drawing, onSelect, onToggle }: Props) {
  return (
    <>
      {drawing.frames.slice(0, MOST).map(({ group }) => (
        <button key={group.key} class="frame" tabIndex={-1} onClick={() => onToggle(group)}>
          {group.label}
        </button>
      ))}
      {drawing.boxes.slice(0, MOST).map((box) => (
        <button
          key={box.first}
          class="box"
          tabIndex={-1}
          data-x={box.x}
          data-y={box.y}
          onClick={() => onSelect(box.group ? { group: box.group.key } : { node: box.node })}
        >
          {box.label}
        </button>
      ))}
    </>
  );
}
