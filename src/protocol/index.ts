// `deskbell/protocol`: the protocol of Web Push alone, with no connection, store or service.
export { decodeBase64, encodeBase64url } from './bytes.ts';
export {
  createEncrypter,
  encryptPushMessage,
  maxPlaintextBytes,
  type Encrypt,
  type EncryptionOptions,
} from './message-encryption.ts';
export { splitEndpoint, type EndpointParts } from './endpoint.ts';
export { createEndpointPolicy, type EndpointFault, type EndpointPolicy } from './endpoint-policy.ts';
export { readResponse, type Outcome, type ResponseContext, type RetryReason } from './outcome.ts';
export { encodePayload } from './message/encode-payload.ts';
export type { Message, MessageAction, MessageTexts } from './message/message.ts';
export type { PushResponse } from './outcome.ts';
export type { RejectionReason } from './refusal-reason.ts';
export {
  defaultTtlSeconds,
  pushHeaders,
  toTopic,
  urgencies,
  type PushOptions,
  type Urgency,
} from './request.ts';
export { parseSubscription, type Subscription } from './subscription.ts';
export { decryptPushMessage, generateUserAgentKeys, type UserAgentKeys } from './user-agent.ts';
export { checkVapidSubject } from './vapid.ts';
export { checkVapidKeys, generateVapidKeys, type VapidKeys } from './vapid.ts';
export { createVapidAuthorizer, type VapidAuthorizer, type VapidAuthorizerOptions } from './vapid.ts';
export { verifyVapidAuthorization, type VapidClaims, type VapidFault } from './vapid-verification.ts';
export { DeskbellError, type FieldError } from '../errors/deskbell-error.ts';
export type { ErrorCode } from '../errors/catalogue.ts';
