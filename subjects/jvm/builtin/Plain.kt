package rpcgauge.builtin

import rpcgauge.Handler
import rpcgauge.Series
import rpcgauge.messages.plain.ExampleCommonMessage
import rpcgauge.messages.plain.ExampleEnum
import rpcgauge.messages.plain.ExampleMessage
import rpcgauge.messages.plain.ExampleRequest
import rpcgauge.messages.plain.ExampleResponse1
import rpcgauge.messages.plain.ExampleResponse1Array
import rpcgauge.messages.plain.GetFollowerRequest
import rpcgauge.messages.plain.GetFollowerResponse
import rpcgauge.messages.plain.GetMemberProfileInfo
import rpcgauge.messages.plain.GetMemberProfileRequest
import rpcgauge.messages.plain.GetMemberProfileResponse
import rpcgauge.messages.plain.HelloReply
import rpcgauge.messages.plain.HelloRequest
import rpcgauge.messages.plain.Record
import rpcgauge.messages.plain.RecordsReply
import rpcgauge.messages.plain.RecordsRequest

internal fun helloPlain(request: Any): Any = HelloReply("Hello, ${(request as HelloRequest).name}.")

internal fun listPlain(n: Int): Handler = listed(n, { (it as ExampleRequest).id }) { count ->
    ExampleResponse1Array(List(count) { itemPlain(it + 1) })
}

internal fun itemsPlain(): Series = items({ (it as ExampleRequest).id }, ::itemPlain)

private fun itemPlain(number: Int) = ExampleResponse1(
    id = number,
    common = ExampleCommonMessage(number),
    message = ExampleMessage(
        double = number + 0.5,
        float = number + 0.5f,
        int = number,
        long = number.toLong(),
        boolean = true,
        string = "string$number",
        enum = ExampleEnum.ONE,
        map = mapOf("key$number" to number),
    ),
    description = "description$number",
)

internal fun recordsPlain(n: Int): Handler {
    val all = rows().map(::recordPlain)
    return sized(n, all.size, "count", { (it as RecordsRequest).count }) { RecordsReply(all.take(it)) }
}

private fun recordPlain(cells: List<String?>) = Record(
    airportName = cells[0],
    aircraftMakeModel = cells[1],
    effectAmountOfDamage = cells[2],
    flightDate = cells[3],
    aircraftAirlineOperator = cells[4],
    originState = cells[5],
    phaseOfFlight = cells[6],
    wildlifeSize = cells[7],
    wildlifeSpecies = cells[8],
    timeOfDay = cells[9],
    costOther = cells[10]?.toInt(),
    costRepair = cells[11]?.toInt(),
    costTotal = cells[12]?.toInt(),
    speedIasInKnots = cells[13]?.toInt(),
)

internal fun profilePlain(request: Any): Any {
    val id = (request as GetMemberProfileRequest).userId
    return GetMemberProfileResponse(GetMemberProfileInfo(id, "m$id@uni.edu", "$id.png", "m$id"))
}

internal fun followersPlain(request: Any, n: Int): Any =
    GetFollowerResponse(followers((request as GetFollowerRequest).userId, n))
