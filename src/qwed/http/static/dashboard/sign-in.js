// Signing in. The address stays what it was, so that a shared link leads where it should.
import { session, signIn } from "./api.js";
import { el, show } from "./dom.js";
import { field } from "./parts.js";

// Why the identity provider's answer was not enough. The address names one of these and no text of its own.
const REFUSED = {
  state: "This browser did not start this sign-in, or it took too long, or it was completed already. Start again.",
  provider: "The identity provider refused the sign-in.",
  token: "QWED could not trust the identity provider's answer. Ask an operator.",
  groups: "You are known, but none of your groups may sign in here. Ask an operator.",
  unavailable: "The identity provider does not answer. Try again later, or use a key.",
};

const refused = () => REFUSED[new URLSearchParams(location.search).get("sign-in")] ?? "";

const providerButton = () =>
  el("a", { class: "button primary wide", id: "provider", href: `${session.sign_in_url}?to=${encodeURIComponent(location.pathname)}` }, "Continue with your organisation");

export const signInPage = (main, done) => {
  const key = el("input", { type: "password", name: "api_key", autocomplete: "off", required: true, spellcheck: "false", placeholder: "qwed_live_…" });
  const problem = el("p", { class: "problem", role: "alert" });
  const button = el("button", { type: "submit", class: session.sign_in_url ? "button wide" : "button primary wide" }, "Sign in");
  const form = el("form", { class: "card sign-in" },
    el("h1", "Sign in"),
    session.sign_in_url ? [el("p", { class: "problem", role: "alert" }, refused()), providerButton(), el("p", { class: "dim or" }, "or with an API key that may read:")]
      : el("p", { class: "dim" }, "With an API key that may read. It is checked once and not kept in the browser."),
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
  (form.querySelector("#provider") ?? key).focus();
};
