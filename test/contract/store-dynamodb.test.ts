import { testDynamoServers } from '../support/dynamo-table.ts';
import { flowStoreContract } from './flow-store-suite.ts';
import { dynamoUnderTest } from './store-dynamo-under-test.ts';

for (const { name, endpoint } of testDynamoServers()) {
  flowStoreContract(`DynamoDB on ${name}`, () => dynamoUnderTest({ endpoint }));
}
