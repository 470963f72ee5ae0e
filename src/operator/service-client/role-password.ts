import { Redacted } from "../runtime/redacted.ts";

/** The password of a role, as the answer to a reset shows it. */
export class RolePassword extends Redacted {
  readonly #text: string;

  constructor(text: string) {
    super();
    this.#text = text;
  }

  /** The URI with this password in place of the one that it has. */
  within(uri: string): string {
    const url = new URL(uri);
    url.password = encodeURIComponent(this.#text);
    return url.toString();
  }
}
