import type { Answer, Connections, Row } from './connections.ts';
import { translate } from './server-error.ts';
import { beginTransaction, type SessionSettings } from './session.ts';

/** Control-plane questions hold no lock that a plan waits for and are small; the API that asks them answers within 29 s. */
export const QUESTION_MS = 15_000;

export function questionSettings(limitMs: number, timeZone = 'UTC'): SessionSettings {
  return {
    timeZone,
    readOnly: true,
    statementMs: limitMs,
    lockMs: Math.min(limitMs, 5_000),
    idleMs: limitMs,
    transactionMs: 2 * limitMs,
  };
}

/**
 * One statement made of quoted names and literals only, in a transaction of its own; answers with its rows. It takes one
 * message, unless a name is beyond ASCII: the server reads a whole message before it obeys the first setting in it.
 */
export async function ask(
  connections: Connections,
  settings: SessionSettings,
  statement: string,
  doing: string,
): Promise<readonly Row[]> {
  const begin = beginTransaction(settings);
  const rest = `${statement};\nCOMMIT`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is the question.
  const inOne = /^[\x00-\x7f]*$/.test(rest);
  try {
    return await connections.use(
      () => ({ text: inOne ? `${begin};\n${rest}` : begin, limitMs: settings.statementMs }),
      async (connection, answers) =>
        rowsBeforeCommit(inOne ? answers : await connection.send({ text: rest, limitMs: settings.statementMs })),
    );
  } catch (error) {
    throw translate(error, { doing });
  }
}

function rowsBeforeCommit(answers: readonly Answer[]): readonly Row[] {
  return answers.at(-2)?.rows ?? [];
}
