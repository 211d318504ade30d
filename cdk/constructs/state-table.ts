import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE } from '../../lib/store/dynamodb/table-definition.ts';
import type { SluiceFunction } from './sluice-function.ts';

/** All state of all flows. It outlives the stack. */
export class StateTable extends Construct {
  readonly table: Table;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.table = new Table(this, 'Table', {
      partitionKey: { name: PARTITION_KEY, type: AttributeType.STRING },
      sortKey: { name: SORT_KEY, type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      timeToLiveAttribute: TTL_ATTRIBUTE,
      deletionProtection: true,
      removalPolicy: RemovalPolicy.RETAIN,
    });
  }

  /** Runs flows and changes their definitions. */
  grantState(fn: SluiceFunction): void {
    this.#grant(fn, 'Query', 'GetItem', 'PutItem', 'UpdateItem', 'DeleteItem');
  }

  /** Reads definitions and marks windows dirty; can neither remove anything nor move a checkpoint. */
  grantMark(fn: SluiceFunction): void {
    this.#grant(fn, 'Query', 'UpdateItem');
  }

  #grant(fn: SluiceFunction, ...operations: string[]): void {
    this.table.grant(fn, ...operations.map((operation) => `dynamodb:${operation}`));
    fn.addEnvironment('SLUICE_TABLE', this.table.tableName);
  }
}
