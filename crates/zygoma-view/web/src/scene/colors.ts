// Colours for numbers: equal steps look equal, and light means more.

/** Viridis at nine places, sRGB. */
const VIRIDIS: [number, number, number][] = [
  [68, 1, 84],
  [71, 44, 122],
  [59, 81, 139],
  [44, 113, 142],
  [33, 144, 141],
  [39, 173, 129],
  [92, 200, 99],
  [170, 220, 50],
  [253, 231, 37],
];

/** For changes both ways: blue for less, pale for the same, red for more (after ColorBrewer's RdBu), sRGB. */
const BOTH_WAYS: [number, number, number][] = [
  [33, 102, 172],
  [67, 147, 195],
  [146, 197, 222],
  [209, 229, 240],
  [240, 238, 232],
  [253, 219, 199],
  [244, 165, 130],
  [214, 96, 77],
  [178, 24, 43],
];

/** Where nothing is simulated. */
export const NOTHING: [number, number, number] = [0.25, 0.25, 0.26];

const linear = (byte: number) => {
  const c = byte / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
};

/** 256 colours in linear light, three numbers each. */
function table(colors: [number, number, number][]): Float32Array {
  const table = new Float32Array(3 * 256);
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (colors.length - 1);
    const from = Math.min(Math.floor(at), colors.length - 2);
    for (let k = 0; k < 3; k++) {
      const [a, b] = [colors[from]?.[k] ?? 0, colors[from + 1]?.[k] ?? 0];
      table[3 * i + k] = linear(a + (at - from) * (b - a));
    }
  }
  return table;
}

const [RISING, SIGNED] = [table(VIRIDIS), table(BOTH_WAYS)];

function write(colors: Float32Array, share: number, out: Float32Array, at: number): void {
  const i = 3 * Math.round(255 * Math.min(Math.max(share, 0), 1));
  out[at] = colors[i] as number;
  out[at + 1] = colors[i + 1] as number;
  out[at + 2] = colors[i + 2] as number;
}

/** Writes the colour of a fraction between 0 and 1. */
export function writeColor(share: number, out: Float32Array, at: number): void {
  write(RISING, share, out, at);
}

/** Writes the colour of a change between −1 and 1. */
export function writeChange(change: number, out: Float32Array, at: number): void {
  write(SIGNED, 0.5 + 0.5 * change, out, at);
}

const gradient = (colors: [number, number, number][]) => `linear-gradient(90deg, ${colors.map((c) => `rgb(${c.join(" ")})`).join(", ")})`;

/** The scales as CSS gradients, from left to right. */
export const [GRADIENT, CHANGE_GRADIENT] = [gradient(VIRIDIS), gradient(BOTH_WAYS)];
