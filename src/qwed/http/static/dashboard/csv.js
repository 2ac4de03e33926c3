// A table as a file that a spreadsheet opens.

// A spreadsheet would run what begins like a formula; an agent may have written it.
const safe = (text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
const cell = (value) => {
  const text = safe(String(value ?? ""));
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export const asCsv = (names, rows) => [names, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";

export const download = (name, text) => {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
};
