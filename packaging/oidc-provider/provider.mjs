// A real identity provider on this machine. Who is in which group is read from a file at each question:
//   node provider.mjs PEOPLE.json PUBLIC_URL
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [people, home] = process.argv.slice(2);
const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "qwed",
        client_secret: "a-secret-of-this-test",
        redirect_uris: [`${home}/sign-in/callback`],
        post_logout_redirect_uris: [`${home}/dashboard`],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
      },
    ],
    claims: { openid: ["sub"], profile: ["name"], email: ["email"], groups: ["groups"] },
    findAccount: (_, sub) => {
      const person = JSON.parse(readFileSync(people, "utf-8"))[sub];
      return person && { accountId: sub, claims: async () => ({ sub, ...person }) };
    },
    cookies: { keys: ["only for a test"] },
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
