// The report: reads the Study that lies in the page and draws it. Makes no request.
import "./page.css";
import { el } from "./format";
import { unfoldToPrint } from "./print";
import { showReport } from "./report";
import { Study } from "./study";
import { listenForTips } from "./tip";

const text = document.getElementById("study")?.textContent ?? "";
const page = el("main", { id: "page" });
(document.getElementById("app") ?? document.body).append(page);
listenForTips();
unfoldToPrint();
showReport(JSON.parse(text) as Study, text, page);
document.getElementById(location.hash.slice(1))?.scrollIntoView();
page.dataset["drawn"] = "yes";
