// Dark or light: as the system says, until the user says otherwise.

const KEY = "zygoma-theme";

function apply(theme: string | null): void {
  if (theme) document.documentElement.dataset["theme"] = theme;
  else delete document.documentElement.dataset["theme"];
}

/** Takes the theme over and gives a function that changes it. */
export function chooseTheme(): () => void {
  const system = matchMedia("(prefers-color-scheme: light)");
  let chosen: string | null = null;
  // Storage may be forbidden; then the choice lasts as long as the page.
  try {
    chosen = localStorage.getItem(KEY);
  } catch {
    chosen = null;
  }
  apply(chosen);
  return () => {
    const now = chosen ?? (system.matches ? "light" : "dark");
    chosen = now === "light" ? "dark" : "light";
    apply(chosen);
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // As above.
    }
  };
}
