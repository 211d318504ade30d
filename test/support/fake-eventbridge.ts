import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface FakeRule {
  readonly name: string;
  schedule: string;
  state: 'ENABLED' | 'DISABLED';
  readonly targets: Map<string, { Id: string; Arn: string; Input?: string; RetryPolicy?: unknown }>;
}

export interface FakeEvent {
  readonly EventBusName?: string;
  readonly Source: string;
  readonly DetailType: string;
  readonly Detail: string;
}

/** What happens at the next call of an operation: `lost` applies it and drops the connection; the others do not apply it. */
export type Fault =
  | { readonly kind: 'lost' }
  | { readonly kind: 'dropped' }
  | { readonly kind: 'error'; readonly status: number; readonly type: string }
  | { readonly kind: 'failed_entry'; readonly code: string };

type Body = Record<string, unknown>;

class Refusal extends Error {
  readonly type: string;
  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

/**
 * A server that speaks EventBridge's JSON protocol (AWS JSON 1.1, `X-Amz-Target: AWSEvents.<operation>`) for the
 * operations that a schedule uses, with the refusals that the service documents: no target without a rule, no deletion of
 * a rule that has targets, no enabling of what is not there, names of 1 to 64 characters of a fixed set.
 */
export class FakeEventBridge {
  readonly rules = new Map<string, FakeRule>();
  readonly events: FakeEvent[] = [];
  readonly calls: string[] = [];
  readonly #faults: { operation: string; fault: Fault }[] = [];
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });

  static async start(): Promise<FakeEventBridge> {
    const fake = new FakeEventBridge();
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Faults of one operation are used up in the order in which they were injected, one per call. */
  inject(operation: string, fault: Fault): void {
    this.#faults.push({ operation, fault });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const operation = String(request.headers['x-amz-target']).replace('AWSEvents.', '');
    const body = JSON.parse(await text(request)) as Body;
    this.calls.push(operation);
    const at = this.#faults.findIndex((injected) => injected.operation === operation);
    const fault = at === -1 ? undefined : this.#faults.splice(at, 1)[0]?.fault;
    if (fault?.kind === 'dropped') {
      response.destroy();
      return;
    }
    if (fault?.kind === 'error') {
      send(response, fault.status, { __type: fault.type, message: 'injected' });
      return;
    }
    try {
      const answer = fault?.kind === 'failed_entry' ? failedEntry(operation, fault.code) : this.#apply(operation, body);
      if (fault?.kind === 'lost') response.destroy();
      else send(response, 200, answer);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      send(response, 400, { __type: error.type, message: error.message });
    }
  }

  #apply(operation: string, body: Body): Body {
    switch (operation) {
      case 'PutRule': {
        const name = ruleName(body.Name);
        const schedule = String(body.ScheduleExpression);
        if (!/^rate\((1 minute|([2-9]|[1-9]\d+) minutes)\)$/.test(schedule)) {
          throw new Refusal('ValidationException', 'Parameter ScheduleExpression is not valid.');
        }
        const state = body.State === 'DISABLED' ? 'DISABLED' : 'ENABLED';
        const targets = this.rules.get(name)?.targets ?? new Map();
        this.rules.set(name, { name, schedule, state, targets });
        return { RuleArn: `arn:aws:events:eu-central-1:123456789012:rule/${name}` };
      }
      case 'PutTargets': {
        const rule = this.#rule(body.Rule);
        for (const target of body.Targets as { Id: string; Arn: string; Input?: string }[]) {
          if (target.Input !== undefined) JSON.parse(target.Input);
          rule.targets.set(target.Id, target);
        }
        return { FailedEntryCount: 0, FailedEntries: [] };
      }
      case 'RemoveTargets': {
        const rule = this.#rule(body.Rule);
        for (const id of body.Ids as string[]) rule.targets.delete(id);
        return { FailedEntryCount: 0, FailedEntries: [] };
      }
      case 'EnableRule':
        this.#rule(body.Name).state = 'ENABLED';
        return {};
      case 'DisableRule':
        this.#rule(body.Name).state = 'DISABLED';
        return {};
      case 'DeleteRule': {
        const rule = this.#rule(body.Name);
        if (rule.targets.size > 0) {
          throw new Refusal('ValidationException', "Rule can't be deleted since it has targets.");
        }
        this.rules.delete(rule.name);
        return {};
      }
      case 'PutEvents': {
        const entries = body.Entries as FakeEvent[];
        this.events.push(...entries);
        return { FailedEntryCount: 0, Entries: entries.map((_, index) => ({ EventId: `event-${index}` })) };
      }
      default:
        throw new Refusal('UnknownOperationException', operation);
    }
  }

  #rule(name: unknown): FakeRule {
    const rule = this.rules.get(ruleName(name));
    if (rule === undefined) throw new Refusal('ResourceNotFoundException', `Rule ${String(name)} does not exist.`);
    return rule;
  }
}

function ruleName(name: unknown): string {
  if (typeof name !== 'string' || !/^[.\-_A-Za-z0-9]{1,64}$/.test(name)) {
    throw new Refusal('ValidationException', 'Name does not satisfy its pattern or length');
  }
  return name;
}

function failedEntry(operation: string, code: string): Body {
  const entry = { ErrorCode: code, ErrorMessage: 'injected' };
  return operation === 'PutEvents'
    ? { FailedEntryCount: 1, Entries: [entry] }
    : { FailedEntryCount: 1, FailedEntries: [{ TargetId: 'tick', ...entry }] };
}

function send(response: ServerResponse, status: number, body: Body): void {
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-requestid': 'fake' });
  response.end(JSON.stringify(body));
}
