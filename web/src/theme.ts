// Light or dark: the user's choice, by default the system's.
import { useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark";

export function useTheme(): [Theme, () => void] {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const [dark, setDark] = useState(system.matches);
  useEffect(() => {
    const follow = (): void => setDark(system.matches);
    system.addEventListener("change", follow);
    return () => system.removeEventListener("change", follow);
  }, []);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  return [dark ? "dark" : "light", () => setDark(!dark)];
}
