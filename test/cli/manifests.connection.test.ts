import { describe, expect, test } from "vitest";
import { keys, project } from "../service/support/shop.ts";
import { refusals, Stage } from "./command-stage.ts";
import { baseURL, compute, connection, documents } from "./texts.ts";

describe("the connection", () => {
  const env = { COMPUTE_OPERATOR_API_KEY: keys.shop };
  const noSecret = connection.slice(connection.indexOf("---\n") + 4);

  test.each<[string, string, string]>([
    [
      "is missing",
      compute("a"),
      `a.yaml:1: Compute shop/a: spec.connectionRef.name: there is no ServiceConnection "default" in these manifests. Add it and its Secret, or set --base-url (the public service is https://console.neon.tech/api/v2) and COMPUTE_OPERATOR_API_KEY`,
    ],
    [
      "has no Secret",
      documents(noSecret, compute("a")),
      `a.yaml:1: ServiceConnection shop/default: There is no Secret "service-api-key" of type compute-operator.dev/api-key`,
    ],
    ["has no Secret, with the way out", documents(compute("a"), noSecret), " Or set COMPUTE_OPERATOR_API_KEY."],
    [
      "is of another namespace",
      documents(connection.replaceAll("namespace: shop", "namespace: eu"), compute("a")),
      `a.yaml:12: Compute shop/a: spec.connectionRef.name: there is no ServiceConnection "default" in these manifests.`,
    ],
    [
      "has an empty Secret",
      documents(compute("a"), connection.replace(keys.shop, '""')),
      `a.yaml:6: ServiceConnection shop/default: Secret "service-api-key" is empty under "api-key"`,
    ],
    [
      "has a Secret without that key",
      documents(connection.replace("{api-key:", "{key:"), compute("a")),
      `Secret "service-api-key" has no key "api-key"`,
    ],
  ])("a connection that %s is reported", async (_what, text, message) => {
    expect(await refusals(text)).toContain(message);
  });

  test.each<[string, string, number, string]>([
    [
      "a wrong key",
      connection.replace(keys.shop, "wrong"),
      1,
      "! shop/a  error    Unauthorized: The service refused the API key",
    ],
    [
      "a key without that project",
      connection.replace(keys.shop, keys.other),
      1,
      "! shop/a  error    ProjectNotFound: ",
    ],
    [
      "a connection that does not allow the project",
      connection.replace("spec: {", "spec: {allowedProjects: [other], "),
      1,
      `ConnectionNotReady: ServiceConnection "default" does not allow project ${project}`,
    ],
  ])("a connection with %s has nothing planned", async (_what, connected, status, line) => {
    using stage = new Stage();
    const run = await stage.run("plan", ["-f", stage.file("a.yaml", documents(connected, compute("a")))]);
    expect(run).toMatchObject({ status, out: expect.stringContaining(line) });
    const applied = await stage.run("apply", ["-f", `${stage.directory}/a.yaml`, "--yes"]);
    expect(applied.status).toBe(1);
    expect(stage.writes).toEqual([]);
  });

  test("a service that cannot be reached is reported, with the address and its source", async () => {
    using stage = new Stage();
    stage.fate = () => "lost before";
    const run = await stage.run("plan", ["-f", stage.file("a.yaml", documents(connection, compute("a")))]);
    const line =
      /ServiceUnavailable: The service is not available: .*: no answer in time\. Check that the service is at (\S+) \(spec\.baseURL .*--base-url\)\.$/m;
    expect(run.status).toBe(1);
    expect(line.exec(run.out)?.[1]).toBe(baseURL);
    stage.env = env;
    const exported = await stage.run("export", ["--project", project, "--base-url", "https://elsewhere.test/api/v2"]);
    expect(exported).toMatchObject({
      status: 1,
      err: expect.stringContaining("Check that the service is at https://elsewhere.test/api/v2 (--base-url)."),
    });
  });

  test.each([
    "https://service.example.com",
    "service.example.com/api/v2",
    "https://service.example.com/api/v2/projects",
  ])("a base URL of %s is refused with what it must be", async (wrong) => {
    using stage = new Stage();
    stage.env = env;
    const run = await stage.run("plan", ["-f", "-", "--base-url", wrong], compute("a"));
    expect(run).toMatchObject({
      status: 1,
      err: `compute-operator plan: --base-url must be an http or https URL that ends in /api/v2, without user, query and fragment, for example https://console.neon.tech/api/v2, not "${wrong}"`,
    });
  });

  test.each(["two words", "Bearer key", "k\u00e9y", "x".repeat(1025)])(
    "a key in the environment of %j is refused",
    async (key) => {
      using stage = new Stage();
      stage.env = { COMPUTE_OPERATOR_API_KEY: key };
      const run = await stage.run("plan", ["-f", "-", "--base-url", baseURL], compute("a"));
      expect(run).toMatchObject({
        status: 1,
        err: "compute-operator plan: COMPUTE_OPERATOR_API_KEY holds no API key: it must be the key alone, no spaces, ASCII only",
      });
    },
  );

  test("a key in the environment may have space around it, and as many characters as a header takes", async () => {
    using stage = new Stage();
    stage.env = { COMPUTE_OPERATOR_API_KEY: ` ${"x".repeat(1024)}\n` };
    const run = await stage.run("plan", ["-f", "-", "--base-url", baseURL], compute("a"));
    expect(run.out).toContain("Unauthorized: ");
  });

  test("a connection that names a broken authority is reported", async () => {
    using stage = new Stage();
    const broken = connection.replace(
      "apiKeySecretRef",
      'caBundle: "-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----", apiKeySecretRef',
    );
    const run = await stage.run("plan", ["-f", stage.file("a.yaml", documents(broken, compute("a")))]);
    expect(run).toMatchObject({ status: 1, err: expect.stringMatching(/a\.yaml:7: .*spec\.caBundle cannot be read/) });
  });

  test("comes from --base-url and the environment where the manifests have none", async () => {
    using stage = new Stage();
    stage.env = env;
    const run = await stage.run("plan", ["-f", "-", "--base-url", baseURL], compute("a"));
    expect(run).toMatchObject({ status: 2, out: expect.stringContaining("+ shop/a  create") });
  });

  test.each(["plan", "apply"] as const)(
    "a missing connection is never taken for the public service by %s",
    async (name) => {
      using stage = new Stage();
      stage.env = env;
      const asked: string[] = [];
      stage.fate = ({ baseURL: to }) => {
        asked.push(to);
        return "answered";
      };
      const run = await stage.run(name, [
        "-f",
        stage.file("a.yaml", compute("a")),
        ...(name === "apply" ? ["--yes"] : []),
      ]);
      expect(run).toMatchObject({
        status: 1,
        out: "",
        err: expect.stringContaining(
          'there is no ServiceConnection "default" in these manifests. Add it and its Secret',
        ),
      });
      expect(asked).toEqual([]);
    },
  );

  test("takes the key from the environment for its own base URL only where that is named on the command line", async () => {
    using stage = new Stage();
    stage.env = env;
    const asked: string[] = [];
    stage.fate = ({ baseURL: to }) => {
      asked.push(to);
      return "answered";
    };
    const args = ["-f", stage.file("a.yaml", documents(noSecret, compute("a")))];
    const refused = await stage.run("plan", args);
    expect(refused).toMatchObject({
      status: 1,
      err: `compute-operator plan: ${stage.directory}/a.yaml:1: ServiceConnection shop/default: spec.baseURL: the key in COMPUTE_OPERATOR_API_KEY is sent only to https://console.neon.tech/api/v2, not to ${baseURL}. If you mean that service, set --base-url ${baseURL}`.replaceAll(
        `${stage.directory}/`,
        "",
      ),
    });
    expect(asked).toEqual([]);
    expect((await stage.run("plan", [...args, "--base-url", baseURL])).status).toBe(2);
    expect(new Set(asked)).toEqual(new Set([baseURL]));
  });

  test("never shows its key, whatever goes wrong", async () => {
    for (const fate of ["answered", "lost before"] as const) {
      using stage = new Stage();
      stage.fate = () => fate;
      const text = documents(connection.replace(keys.shop, "very-secret-key"), compute("a"));
      // Each fate on a stage of its own.
      const run = await stage.run("plan", ["-f", stage.file("a.yaml", text), "--output", "json"]);
      expect(run.out + run.err).not.toContain("very-secret-key");
    }
  });
});
