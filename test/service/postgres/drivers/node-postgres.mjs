// node-postgres with a URI as it is: argv[2] is the directory of the package, argv[3] the URI.
import { createRequire } from "node:module";

const { Client } = createRequire(`${process.argv[2]}/package.json`)("pg");
const client = new Client({ connectionString: process.argv[3], enableChannelBinding: process.argv[4] === "bind" });
await client.connect();
const { rows } = await client.query("SELECT current_user");
console.log(rows[0].current_user, client.connection.stream.authorized);
await client.end();
