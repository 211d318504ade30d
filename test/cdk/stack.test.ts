import { App } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { SluiceStack } from '../../cdk/sluice-stack.ts';

interface Statement {
  readonly Action: string | string[];
  readonly Resource: unknown;
  readonly Condition?: unknown;
}

describe('the stack', () => {
  let template: Template;
  beforeAll(() => {
    const app = new App();
    template = Template.fromStack(new SluiceStack(app, 'Sluice', { connectionsSecret: 'team/databases' }));
  });

  /** Statements of the role of a function, found by the function's description. */
  function statementsOf(description: RegExp): Statement[] {
    const [fn] = Object.values(template.findResources('AWS::Lambda::Function')).filter(({ Properties }) =>
      description.test(Properties.Description),
    );
    const role = fn?.Properties.Role['Fn::GetAtt'][0] as string;
    return Object.values(template.findResources('AWS::IAM::Policy'))
      .filter(({ Properties }) => Properties.Roles.some((each: { Ref: string }) => each.Ref === role))
      .flatMap(({ Properties }) => Properties.PolicyDocument.Statement as Statement[]);
  }

  const actionsOf = (description: RegExp) =>
    statementsOf(description)
      .flatMap(({ Action }) => Action)
      .sort();

  it('keeps all state in one table that outlives it', () => {
    template.resourceCountIs('AWS::DynamoDB::Table', 1);
    template.hasResource('AWS::DynamoDB::Table', {
      DeletionPolicy: 'Retain',
      UpdateReplacePolicy: 'Retain',
      Properties: {
        BillingMode: 'PAY_PER_REQUEST',
        DeletionProtectionEnabled: true,
        KeySchema: [
          { AttributeName: 'pk', KeyType: 'HASH' },
          { AttributeName: 'sk', KeyType: 'RANGE' },
        ],
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
      },
    });
  });

  it('runs three functions on Node 24 and arm64, with source maps', () => {
    template.resourceCountIs('AWS::Lambda::Function', 3);
    template.allResourcesProperties('AWS::Lambda::Function', {
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      Environment: {
        Variables: {
          NODE_OPTIONS: '--enable-source-maps',
          SLUICE_TABLE: Match.anyValue(),
          SLUICE_CONNECTIONS: '{{resolve:secretsmanager:team/databases:SecretString:::}}',
        },
      },
    });
  });

  it('neither repeats a tick nor delivers a late one, by either way to it', () => {
    template.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
      MaximumRetryAttempts: 0,
      MaximumEventAgeInSeconds: 60,
    });
    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: { source: ['sluice'], 'detail-type': ['Sluice Tick'] },
      Targets: [Match.objectLike({ RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 } })],
    });
  });

  it('keeps a mark that cannot be delivered, or fails', () => {
    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: { 'detail-type': ['Sluice Mark'] },
      Targets: [Match.objectLike({ DeadLetterConfig: { Arn: Match.anyValue() } })],
    });
    template.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
      MaximumRetryAttempts: 2,
      DestinationConfig: { OnFailure: { Destination: Match.anyValue() } },
    });
    template.hasResourceProperties('AWS::SQS::Queue', {
      MessageRetentionPeriod: 14 * 24 * 3600,
      SqsManagedSseEnabled: true,
    });
  });

  it('lets nobody call the API who has not signed with IAM', () => {
    const routes = Object.values(template.findResources('AWS::ApiGatewayV2::Route'));
    expect(routes.length).toBeGreaterThan(0);
    for (const { Properties } of routes) expect(Properties.AuthorizationType).toBe('AWS_IAM');
    template.hasResourceProperties('AWS::ApiGatewayV2::Integration', { PayloadFormatVersion: '2.0' });
  });

  it('lets the rules of flows, and only these, invoke the tick', () => {
    const [prefix] = Object.values(template.findResources('AWS::Lambda::Function'))
      .map(({ Properties }) => Properties.Environment.Variables.SLUICE_RULE_PREFIX as string | undefined)
      .filter((value) => value !== undefined);
    expect(prefix).toMatch(/^sluice-[0-9a-f]{8}-$/);
    template.hasResourceProperties('AWS::Lambda::Permission', {
      Action: 'lambda:InvokeFunction',
      Principal: 'events.amazonaws.com',
      SourceArn: { 'Fn::Join': ['', Match.arrayWith([Match.stringLikeRegexp(`:rule/${prefix}\\*$`)])] },
    });
  });

  const STATE = ['DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'].map((action) => `dynamodb:${action}`);

  it('grants each function what it does, and no more', () => {
    expect(actionsOf(/plan/)).toEqual([...STATE, 'events:PutEvents']);
    expect(actionsOf(/HTTP API/)).toEqual([
      ...STATE,
      'events:DeleteRule',
      'events:DisableRule',
      'events:EnableRule',
      'events:PutEvents',
      'events:PutRule',
      'events:PutTargets',
      'events:RemoveTargets',
    ]);
    expect(actionsOf(/Marks windows/)).toEqual([
      'dynamodb:Query',
      'dynamodb:UpdateItem',
      'sqs:GetQueueAttributes',
      'sqs:GetQueueUrl',
      'sqs:SendMessage',
    ]);
  });

  it('grants nothing on everything', () => {
    const all = [/plan/, /HTTP API/, /Marks windows/].flatMap(statementsOf);
    expect(all.length).toBeGreaterThan(5);
    for (const { Resource, Action } of all) {
      expect(JSON.stringify(Resource)).not.toContain('"*"');
      expect(JSON.stringify(Action)).not.toContain('*');
    }
  });

  it('lets the API target the tick function alone', () => {
    const targets = statementsOf(/HTTP API/).find(({ Action }) => Action === 'events:PutTargets');
    expect(targets?.Condition).toEqual({
      'ForAllValues:ArnEquals': { 'events:TargetArn': { 'Fn::GetAtt': [expect.stringMatching(/^Tick/), 'Arn'] } },
      Null: { 'events:TargetArn': 'false' },
    });
  });

  it('has no secret in its template', () => {
    expect(JSON.stringify(template.toJSON())).not.toMatch(/postgres(ql)?:\/\//);
  });
});
