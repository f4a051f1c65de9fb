// Small rigs and takes, made here.

const SIDE = 21;

function obj(offset) {
  const lines = [];
  for (let row = 0; row < SIDE; row++) {
    for (let column = 0; column < SIDE; column++) {
      const [x, y] = [(column - 10) * 0.01, (row - 10) * 0.01];
      const at = [x, y, 0.05 - 2 * (x * x + y * y)];
      const moved = offset(at);
      lines.push(`v ${at.map((value, axis) => (value + moved[axis]).toFixed(6)).join(" ")}`);
    }
  }
  for (let row = 0; row < SIDE - 1; row++) {
    for (let column = 0; column < SIDE - 1; column++) {
      const corner = 1 + row * SIDE + column;
      lines.push(`f ${corner} ${corner + 1} ${corner + SIDE + 1} ${corner + SIDE}`);
    }
  }
  return Buffer.from(`${lines.join("\n")}\n`);
}

/** A domed square with three shapes, as a set of OBJ files. */
export function smallRig() {
  const bump = (x, y, p) => Math.exp(-((p[0] - x) ** 2 + (p[1] - y) ** 2) / 4e-4);
  return [
    { name: "neutral.obj", bytes: obj(() => [0, 0, 0]) },
    { name: "cheekPuff.obj", bytes: obj((p) => [0, 0, 0.01 * (bump(0.05, -0.02, p) + bump(-0.05, -0.02, p))]) },
    { name: "browInnerUp.obj", bytes: obj((p) => [0, 0.01 * bump(0, 0.06, p), 0]) },
    { name: "jawOpen.obj", bytes: obj((p) => [0, p[1] < -0.045 ? -0.02 : 0, 0]) },
  ];
}

/** A take of two seconds in which the jaw opens and closes. */
export function smallTake() {
  const rows = ["time,JawOpen,MouthSmileLeft"];
  for (let i = 0; i <= 60; i++) {
    const time = i / 30;
    rows.push(`${time.toFixed(4)},${(0.5 - 0.5 * Math.cos(Math.PI * time)).toFixed(4)},0.4`);
  }
  return Buffer.from(`${rows.join("\n")}\n`);
}
