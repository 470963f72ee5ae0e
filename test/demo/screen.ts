/** What a person watching the demo sees. Colour and a moving clock only where there is a terminal. */
export interface Screen {
  /** The name of a step, with a line on what it shows. */
  heading(title: string, explanation: string): void;
  /** A command as a person would type it. */
  command(line: string): void;
  /** What a command wrote, as it is. */
  output(text: string): void;
  /** A remark of the demo's own. */
  note(text: string): void;
  /** Shows that `work` goes on, and how long it took. */
  waiting<T>(what: string, work: Promise<T>): Promise<T>;
}

/** Where it is written, e.g. `process.stdout`. */
export interface Terminal {
  isTTY?: boolean;
  write(text: string): unknown;
}

export function createScreen(terminal: Terminal): Screen {
  const tty = terminal.isTTY === true;
  const styled = (code: number, text: string) => (tty ? `\u001b[${code}m${text}\u001b[0m` : text);
  const bold = (text: string) => styled(1, text);
  const dim = (text: string) => styled(2, text);
  const cyan = (text: string) => styled(36, text);
  const line = (text = "") => terminal.write(`${text}\n`);
  let steps = 0;

  return {
    heading(title, explanation) {
      line();
      line(bold(`${++steps}. ${title}`));
      line(dim(`   ${explanation}`));
    },
    command(text) {
      line();
      line(`   ${cyan("$")} ${text}`);
    },
    output(text) {
      for (const row of text.trimEnd().split("\n")) line(`     ${row}`);
    },
    note(text) {
      line();
      for (const row of text.split("\n")) line(`   ${row}`);
    },
    async waiting(what, work) {
      const began = performance.now();
      const seconds = () => `${((performance.now() - began) / 1000).toFixed(1)} s`;
      const show = () => terminal.write(`\r   ${dim(`… ${what} ${seconds()}`)}\u001b[K`);
      const timer = tty ? setInterval(show, 100) : undefined;
      try {
        return await work;
      } finally {
        clearInterval(timer);
        if (tty) terminal.write("\r\u001b[K");
        line(dim(`   ${what}: ${seconds()}`));
      }
    },
  };
}
