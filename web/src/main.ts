import { mount } from "svelte";
import "./app.css";
import App from "./App.svelte";
import { fromAddress } from "./lib/token";

fromAddress();

export default mount(App, { target: document.getElementById("app")! });
