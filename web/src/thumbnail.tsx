// A small picture of a sample, from the bytes in the report.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Picture } from "./data";

const SIZE = 128; // of the longer side on the page, in pixels

export function Thumbnail({ picture, label }: { picture: Picture; label: string }) {
  const place = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const bytes = atob(picture.pixels);
    const context = place.current!.getContext("2d")!;
    const image = context.createImageData(picture.width, picture.height);
    for (let i = 0; i < picture.width * picture.height; i += 1) {
      for (let c = 0; c < 3; c += 1)
        image.data[4 * i + c] = bytes.charCodeAt(i * picture.channels + Math.min(c, picture.channels - 1));
      image.data[4 * i + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }, [picture]);
  const scale = SIZE / Math.max(picture.width, picture.height);
  return (
    <canvas
      ref={place}
      class="thumbnail"
      role="img"
      aria-label={label}
      width={picture.width}
      height={picture.height}
      style={{ width: `${picture.width * scale}px`, height: `${picture.height * scale}px` }}
    />
  );
}
