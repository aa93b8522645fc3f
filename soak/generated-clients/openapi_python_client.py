# Lists, creates and reads with a client that openapi-python-client has generated.
import os

from operator_client import AuthenticatedClient
from operator_client.api.sending import create_broadcast, get_broadcast, list_broadcasts
from operator_client.models import AskedList, BroadcastRequest, MatchingAudience

request = {
    "audience": {"tags": {"any": ["news"]}},
    "message": {"title": "Ding dong", "message": "Tea is ready"},
    "urgency": "high",
}
with AuthenticatedClient(base_url=os.environ["API"], token=os.environ["TOKEN"]) as client:
    made = create_broadcast.sync(client=client, body=BroadcastRequest.from_dict(request))
    read = get_broadcast.sync(made.id, client=client)
    listed = list_broadcasts.sync(client=client).items
print(made.id, read.title, read.urgency, isinstance(read.audience, MatchingAudience))
print([each.id for each in listed], isinstance(listed[-2].audience, AskedList), listed[-1].audience)
