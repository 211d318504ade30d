// The shell commands that a page of documentation shows, so that a test can ask of each one who runs it.

export interface ShownCommand {
  readonly file: string;
  /** Of the command's first line, from 1. */
  readonly line: number;
  readonly text: string;
}

/** A fenced block of a page. */
export interface Fence {
  readonly language: string;
  /** Of the line that opens it, from 1. */
  readonly line: number;
  readonly body: readonly string[];
}

const SHELL = new Set(['sh', 'bash', 'shell', 'zsh']);
/** A session: commands after `$ `, their further lines after `> `, everything else is output. */
const SESSION = new Set(['console', 'shell-session']);

/** Throws where a fence names no language or is not closed: a command could hide in it. */
export function shownCommands(file: string, markdown: string): ShownCommand[] {
  return fences(file, markdown).flatMap(({ language, line, body }) => {
    if (SHELL.has(language)) return commandsOf(file, line + 1, body);
    if (SESSION.has(language)) return sessionCommands(file, line + 1, body);
    return [];
  });
}

/** Throws as {@link shownCommands} does. */
export function fences(file: string, markdown: string): Fence[] {
  const lines = markdown.split('\n');
  const found: Fence[] = [];
  for (let at = 0; at < lines.length; at++) {
    const opened = /^(\s*)(`{3,}|~{3,})\s*([^\s`]*)/.exec(lines[at] ?? '');
    if (opened === null) continue;
    const [, indent = '', mark = '', language = ''] = opened;
    if (language === '') throw new Error(`${file}:${at + 1}: the fence names no language; "text" is one`);
    const isEnd = (line: string) => {
      const closed = line.trim();
      return closed.length >= mark.length && closed === mark.charAt(0).repeat(closed.length);
    };
    const end = lines.findIndex((line, index) => index > at && isEnd(line));
    if (end === -1) throw new Error(`${file}:${at + 1}: the fence is not closed`);
    const body = lines.slice(at + 1, end).map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
    found.push({ language, line: at + 1, body });
    at = end;
  }
  return found;
}

function sessionCommands(file: string, firstLine: number, body: readonly string[]): ShownCommand[] {
  const script = body.map((line, index) => {
    if (line.startsWith('$ ')) return line.slice(2);
    const continues = line.startsWith('> ') && /^[$>] /.test(body[index - 1] ?? '');
    return continues ? line.slice(2) : '';
  });
  const commands = commandsOf(file, firstLine, script);
  if (commands.length === 0)
    throw new Error(`${file}:${firstLine - 1}: a session without a line that starts with "$ "`);
  return commands;
}

/** One command per statement: lines that a backslash, an open quote or a here-document carries on are one. */
function commandsOf(file: string, firstLine: number, body: readonly string[]): ShownCommand[] {
  const commands: ShownCommand[] = [];
  for (let at = 0; at < body.length; at++) {
    const line = firstLine + at;
    let text = body[at] ?? '';
    let scan = scanShell(text);
    while (scan.open && at + 1 < body.length) {
      at++;
      text = text.endsWith('\\') ? `${text.slice(0, -1).trimEnd()} ${(body[at] ?? '').trim()}` : `${text}\n${body[at]}`;
      scan = scanShell(text);
    }
    for (const part of scan.statements) commands.push({ file, line, text: part });
  }
  return commands;
}

/** Splits at `&&`, `;` and a comment outside of quotes. `open`: the next line belongs to this text. */
function scanShell(text: string): { statements: string[]; open: boolean } {
  const statements: string[] = [];
  let current = '';
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (quote !== '') {
      if (char === quote) quote = '';
      current += char;
      if (char === '\\' && quote === '"') current += text.charAt(++at);
    } else if (char === '\\') {
      current += char + text.charAt(++at);
    } else if (char === "'" || char === '"') {
      quote = char;
      current += char;
    } else if (char === '#' && /(^|\s)$/.test(current)) {
      const end = text.indexOf('\n', at);
      at = end === -1 ? text.length : end - 1;
    } else if (char === ';' || text.startsWith('&&', at)) {
      statements.push(current);
      current = '';
      if (char === '&') at++;
    } else current += char;
  }
  statements.push(current);
  const hereDocument = /<<-?\s*['"]?(\w+)['"]?[^\n]*(\n[\s\S]*)?$/.exec(text);
  const inHereDocument = hereDocument !== null && !(hereDocument[2] ?? '').split('\n').includes(hereDocument[1] ?? '');
  return {
    statements: statements.map((statement) => statement.trim()).filter((statement) => statement !== ''),
    open: quote !== '' || inHereDocument || /(^|[^\\])\\$/.test(text),
  };
}
