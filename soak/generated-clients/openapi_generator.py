# Lists, creates and reads with a client for Python that openapi-generator has generated.
import os

from operator_client import ApiClient, Configuration
from operator_client.api.sending_api import SendingApi
from operator_client.models.asked_list import AskedList
from operator_client.models.broadcast_request import BroadcastRequest
from operator_client.models.matching_audience import MatchingAudience

request = {
    "audience": {"tags": {"any": ["news"]}},
    "message": {"title": "Ding dong", "message": "Tea is ready"},
    "urgency": "high",
}
configuration = Configuration(host=os.environ["API"], access_token=os.environ["TOKEN"])
with ApiClient(configuration) as client:
    api = SendingApi(client)
    made = api.create_broadcast(BroadcastRequest.from_dict(request))
    read = api.get_broadcast(made.id)
    listed = api.list_broadcasts().items
print(made.id, read.title, read.urgency, isinstance(read.audience.actual_instance, MatchingAudience))
second, third = [each.audience.actual_instance for each in listed[-2:]]
print([each.id for each in listed], isinstance(second, AskedList), third)
