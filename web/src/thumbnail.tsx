// A thumbnail of a sample, from the bytes in the report.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { ThumbnailData } from "./data";

const SIZE = 128; // of the longer side on the page, in pixels

export function Thumbnail({ thumbnail, label }: { thumbnail: ThumbnailData; label: string }) {
  const place = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const bytes = atob(thumbnail.pixels);
    const context = place.current!.getContext("2d")!;
    const image = context.createImageData(thumbnail.width, thumbnail.height);
    for (let i = 0; i < thumbnail.width * thumbnail.height; i += 1) {
      for (let c = 0; c < 3; c += 1)
        image.data[4 * i + c] = bytes.charCodeAt(i * thumbnail.channels + Math.min(c, thumbnail.channels - 1));
      image.data[4 * i + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }, [thumbnail]);
  const scale = SIZE / Math.max(thumbnail.width, thumbnail.height);
  return (
    <canvas
      ref={place}
      class="thumbnail"
      role="img"
      aria-label={label}
      width={thumbnail.width}
      height={thumbnail.height}
      style={{ width: `${thumbnail.width * scale}px`, height: `${thumbnail.height * scale}px` }}
    />
  );
}
