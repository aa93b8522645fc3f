// How many subscriptions were made with each VAPID key: counted in shards, so that registrations do not wait for each other.
export const subscriptionCounts = `
  select v.public_key, sum(c.subscriptions) as subscriptions
  from deskbell.subscription_counts c join deskbell.vapid_keys v on v.id = c.vapid_key_id
  group by v.public_key`;
