export {
  type LambdaHandler,
  type LambdaRequest,
  type LambdaResponse,
  lambdaHandler,
} from "./http/lambda-handler.ts";
