// One colour per family of formats, the same in every report: --format-… of the style sheet.

const FLOAT = "--plain";

interface Width {
  bits: number;
  float: boolean; // minifloats, block formats, logarithms
}

function widthOf(format: string): Width {
  const name = format.toLowerCase();
  if (name === "float" || name === "float32" || name === "double" || name === "float64") return { bits: 32, float: false };
  if (name === "float16" || name === "bfloat16") return { bits: 16, float: true };
  if (/^(binary|ternary)/.test(name)) return { bits: 2, float: false };
  const integer = /^u?(?:int|fixed)(\d*)/.exec(name);
  if (integer) return { bits: Number(integer[1] || 8), float: false };
  const minifloat = /(\d+)/.exec(name);
  return { bits: minifloat ? Number(minifloat[1]) : 8, float: true };
}

// Of data and weights; weights alone if data stay in float.
export function formatColor(formats: string[], weightsOnly: boolean): string {
  const widths = formats.map(widthOf);
  const least = Math.min(...widths.map((one) => one.bits));
  const most = weightsOnly ? 32 : Math.max(...widths.map((one) => one.bits));
  if (least >= 32) return FLOAT;
  if (least === 16 && widths.every((one) => one.float)) return "--format-half";
  if (widths.some((one) => one.float && one.bits < 16)) return least > 5 ? "--format-float8" : "--format-float4";
  if (most >= 32) return least > 7 ? "--format-weights8" : "--format-weights4";
  if (most >= 16) return "--format-int16";
  return least > 7 ? "--format-int8" : "--format-int4";
}

// Of constants in a file by their type.
export function typeColor(type: string): string {
  if (/^(u?int(32|64)|bool|string)/.test(type)) return "--tint";
  return formatColor([type], false);
}
