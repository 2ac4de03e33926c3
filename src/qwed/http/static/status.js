const list = document.getElementById("status");

const show = (rows) => {
  list.replaceChildren(...rows.flatMap(([name, value]) => {
    const term = document.createElement("dt");
    const description = document.createElement("dd");
    term.textContent = name;
    description.textContent = value;
    return [term, description];
  }));
};

const refresh = async () => {
  try {
    const health = await (await fetch("/health")).json();
    const ready = await (await fetch("/ready")).json();
    show([
      ["Ready", ready.ready ? "yes" : "no"],
      ["Store", ready.store],
      ["Version", health.version],
      ["Policy", ready.policy_version ?? "unknown"],
    ]);
  } catch {
    show([["Ready", "no answer from the gateway"]]);
  }
};

await refresh();
setInterval(refresh, 5000);
