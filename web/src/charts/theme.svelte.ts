/** Whether the page is dark now, for what CSS cannot colour. */

import { MediaQuery } from "svelte/reactivity";
import { studio } from "../lib/studio.svelte";

const prefersDark = new MediaQuery("prefers-color-scheme: dark");

export const isDark = (): boolean => (studio.theme ? studio.theme === "dark" : prefersDark.current);
