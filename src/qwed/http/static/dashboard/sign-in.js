// Signing in. The address stays what it was, so that a shared link leads where it should.
import { signIn } from "./api.js";
import { el, show } from "./dom.js";
import { field } from "./parts.js";

export const signInPage = (main, done) => {
  const key = el("input", { type: "password", name: "api_key", autocomplete: "off", required: true, spellcheck: "false", placeholder: "qwed_live_…" });
  const problem = el("p", { class: "problem", role: "alert" });
  const button = el("button", { type: "submit", class: "button primary wide" }, "Sign in");
  const form = el("form", { class: "card sign-in" },
    el("h1", "Sign in"),
    el("p", { class: "dim" }, "With an API key that may read. It is checked once and not kept in the browser."),
    field("API key", key), problem, button,
    el("p", { class: "dim small" }, "The first operator key was printed by the first ", el("code", "qwed serve"), "; more are made with ", el("code", "qwed keys create"), "."));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    problem.textContent = "";
    try {
      await signIn(key.value);
      key.value = "";
      done();
    } catch (error) {
      show(problem, error.status === 401 ? "This key is not valid, or it was revoked." : error.message);
      key.select();
    } finally {
      button.disabled = false;
    }
  });
  show(main, form);
  key.focus();
};
