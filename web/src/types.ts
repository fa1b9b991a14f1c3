// Types as the report writes them: "float32[1, 16, 80, 80]".

const BITS: Record<string, number> = { bool: 8, double: 64, bfloat16: 16, float: 32 };

function bitsOf(name: string): number | undefined {
  if (BITS[name] !== undefined) return BITS[name];
  if (name.startsWith("float8")) return 8;
  if (name.startsWith("float4")) return 4;
  const found = /^(?:u?int|float|complex)(\d+)$/.exec(name);
  return found ? Number(found[1]) : undefined;
}

export function dimsOf(type: string | undefined): (number | undefined)[] | undefined {
  const inside = /\[(.*)\]$/.exec(type ?? "");
  if (!inside) return undefined;
  if (inside[1]!.trim() === "") return [];
  return inside[1]!.split(",").map((dim) => (/^\s*\d+\s*$/.test(dim) ? Number(dim) : undefined));
}

// Of a tensor of that type; undefined if a dimension is not a number.
export function bytesOf(type: string | undefined): number | undefined {
  const bits = bitsOf((type ?? "").split("[")[0]!);
  const dims = dimsOf(type);
  if (bits === undefined || !dims) return undefined;
  let elements = 1;
  for (const dim of dims) {
    if (dim === undefined) return undefined;
    elements *= dim;
  }
  return Math.ceil((elements * bits) / 8);
}
