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

/** Where nothing is simulated. */
export const NOTHING: [number, number, number] = [0.25, 0.25, 0.26];

const linear = (byte: number) => {
  const c = byte / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
};

/** 256 colours in linear light, three numbers each. */
const TABLE = (() => {
  const table = new Float32Array(3 * 256);
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (VIRIDIS.length - 1);
    const [from, share] = [Math.min(Math.floor(at), VIRIDIS.length - 2), at - Math.min(Math.floor(at), VIRIDIS.length - 2)];
    for (let k = 0; k < 3; k++) {
      const [a, b] = [VIRIDIS[from]?.[k] ?? 0, VIRIDIS[from + 1]?.[k] ?? 0];
      table[3 * i + k] = linear(a + share * (b - a));
    }
  }
  return table;
})();

/** Writes the colour of a share between 0 and 1. */
export function writeColor(share: number, out: Float32Array, at: number): void {
  const i = 3 * Math.round(255 * Math.min(Math.max(share, 0), 1));
  out[at] = TABLE[i] as number;
  out[at + 1] = TABLE[i + 1] as number;
  out[at + 2] = TABLE[i + 2] as number;
}

/** The scale as a CSS gradient, from left to right. */
export const GRADIENT = `linear-gradient(90deg, ${VIRIDIS.map((c) => `rgb(${c.join(" ")})`).join(", ")})`;
