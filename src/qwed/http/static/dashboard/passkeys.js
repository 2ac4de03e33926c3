// Passkeys (WebAuthn): the browser's bytes as texts, and back.

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
const listed = (some) => (some ?? []).map((one) => ({ ...one, id: bytes(one.id) }));

const asked = async (work) => {
  if (!window.PublicKeyCredential) throw new Error("This browser knows no passkeys, or this page was not opened over https.");
  try {
    return await work();
  } catch (error) {
    throw new Error(error.name === "InvalidStateError" ? "This device has a passkey here already." : "No passkey was used: it was cancelled, or took too long.");
  }
};

const told = (flow, credential, names) => ({
  flow,
  credential: {
    id: credential.id, rawId: text(credential.rawId), type: credential.type,
    response: Object.fromEntries(names.map((name) => [name, text(credential.response[name])])),
  },
});

/** Sign what the gateway asked: `{flow, publicKey}` in, `{flow, credential}` out. */
export const sign = async ({ flow, publicKey }) => {
  const options = { ...publicKey, challenge: bytes(publicKey.challenge), allowCredentials: listed(publicKey.allowCredentials) };
  const credential = await asked(() => navigator.credentials.get({ publicKey: options }));
  return told(flow, credential, ["clientDataJSON", "authenticatorData", "signature"]);
};

/** Make a new one. */
export const make = async ({ flow, publicKey }) => {
  const options = {
    ...publicKey, challenge: bytes(publicKey.challenge), excludeCredentials: listed(publicKey.excludeCredentials),
    user: { ...publicKey.user, id: bytes(publicKey.user.id) },
  };
  const credential = await asked(() => navigator.credentials.create({ publicKey: options }));
  return told(flow, credential, ["clientDataJSON", "attestationObject"]);
};
