import { createHash, randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import { z } from "zod";

interface Manifest {
  readonly type: string;
  readonly content: Buffer;
}

const indexOf = z.object({
  manifests: z.array(
    z.object({
      mediaType: z.string(),
      digest: z.string(),
      annotations: z.object({ "org.opencontainers.image.ref.name": z.string() }),
    }),
  ),
});

/** A registry of OCI artifacts in memory: as much of the distribution specification as `helm push` and a pull need. */
export class OciRegistry implements AsyncDisposable {
  /** Host and port. */
  readonly host: string;
  readonly #server: Server;
  /** By repository and digest. */
  readonly #blobs = new Map<string, Buffer>();
  /** By repository and either tag or digest. */
  readonly #manifests = new Map<string, Manifest>();

  static async start(): Promise<OciRegistry> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new OciRegistry(server);
  }

  private constructor(server: Server) {
    const { port } = z.object({ port: z.number() }).parse(server.address());
    this.host = `127.0.0.1:${port}`;
    this.#server = server.on("request", (request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
    });
  }

  /** The tags of a repository. */
  tags(repository: string): string[] {
    const own = [...this.#manifests.keys()].filter(
      (key) => key.startsWith(`${repository} `) && !key.includes("sha256:"),
    );
    return own.map((key) => key.slice(repository.length + 1));
  }

  /** Takes in an OCI image layout, as a client would push it with its tag. */
  load(repository: string, layout: string): void {
    for (const [digest, content] of blobsOf(layout)) this.#blobs.set(`${repository} ${digest}`, content);
    const { manifests } = indexOf.parse(JSON.parse(readFileSync(join(layout, "index.json"), "utf8")));
    for (const { mediaType, digest, annotations } of manifests) {
      const content = this.#blobs.get(`${repository} ${digest}`);
      if (content === undefined) throw new Error(`the layout lacks its manifest ${digest}`);
      const tag = annotations["org.opencontainers.image.ref.name"];
      for (const key of [tag, digest]) this.#manifests.set(`${repository} ${key}`, { type: mediaType, content });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", `http://${this.host}`);
    const [, repository = "", kind = "", reference = ""] =
      /^\/v2\/(.+)\/(blobs\/uploads|blobs|manifests)\/(.*)$/.exec(url.pathname) ?? [];
    const key = `${repository} ${reference}`;
    switch (`${request.method} ${kind}`) {
      case "GET ":
        return void response.writeHead(url.pathname === "/v2/" ? 200 : 404).end();
      case "POST blobs/uploads":
        return void response.writeHead(202, { location: `${url.pathname}${randomUUID()}` }).end();
      case "PUT blobs/uploads": {
        const content = await bodyOf(request);
        const digest = digestOf(content);
        if (digest !== url.searchParams.get("digest")) return void response.writeHead(400).end();
        this.#blobs.set(`${repository} ${digest}`, content);
        return void response.writeHead(201, { location: `/v2/${repository}/blobs/${digest}` }).end();
      }
      case "PUT manifests": {
        const content = await bodyOf(request);
        const digest = digestOf(content);
        const manifest = { type: request.headers["content-type"] ?? "", content };
        this.#manifests.set(key, manifest).set(`${repository} ${digest}`, manifest);
        return void response.writeHead(201, { "docker-content-digest": digest }).end();
      }
      case "HEAD blobs":
      case "GET blobs":
        return send(request, response, this.#blobs.get(key), "application/octet-stream");
      case "HEAD manifests":
      case "GET manifests":
        return send(request, response, this.#manifests.get(key)?.content, this.#manifests.get(key)?.type);
      default:
        return void response.writeHead(405).end();
    }
  }
}

/** The blobs of a layout by digest. Throws where one is not what its name says. */
function blobsOf(layout: string): Array<[digest: string, content: Buffer]> {
  return readdirSync(join(layout, "blobs", "sha256")).map((name) => {
    const content = readFileSync(join(layout, "blobs", "sha256", name));
    if (digestOf(content) !== `sha256:${name}`) throw new Error(`the blob ${name} of ${layout} has another digest`);
    return [`sha256:${name}`, content];
  });
}

function send(request: IncomingMessage, response: ServerResponse, content?: Buffer, type = ""): void {
  if (content === undefined) return void response.writeHead(404).end();
  const headers = {
    "content-type": type,
    "content-length": content.length,
    "docker-content-digest": digestOf(content),
  };
  response.writeHead(200, headers).end(request.method === "HEAD" ? undefined : content);
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(z.instanceof(Buffer).parse(chunk));
  return Buffer.concat(chunks);
}

const digestOf = (content: Buffer): string => `sha256:${createHash("sha256").update(content).digest("hex")}`;
