package rpcgauge.builtin

import rpcgauge.Handler
import rpcgauge.Series
import rpcgauge.messages.followerspb.GetFollowerRequest
import rpcgauge.messages.followerspb.GetFollowerResponse
import rpcgauge.messages.hellopb.HelloReply
import rpcgauge.messages.hellopb.HelloRequest
import rpcgauge.messages.listpb.ExampleCommonMessage
import rpcgauge.messages.listpb.ExampleEnum
import rpcgauge.messages.listpb.ExampleMessage
import rpcgauge.messages.listpb.ExampleRequest
import rpcgauge.messages.listpb.ExampleResponse1
import rpcgauge.messages.listpb.ExampleResponse1Array
import rpcgauge.messages.profilepb.GetMemberProfileInfo
import rpcgauge.messages.profilepb.GetMemberProfileRequest
import rpcgauge.messages.profilepb.GetMemberProfileResponse
import rpcgauge.messages.recordspb.Record
import rpcgauge.messages.recordspb.RecordsReply
import rpcgauge.messages.recordspb.RecordsRequest

internal fun helloProto(request: Any): Any =
    HelloReply.newBuilder().setMessage("Hello, ${(request as HelloRequest).name}.").build()

internal fun listProto(n: Int): Handler = listed(n, { (it as ExampleRequest).id }) { count ->
    ExampleResponse1Array.newBuilder().apply { repeat(count) { addResponse(itemProto(it + 1)) } }.build()
}

internal fun itemsProto(): Series = items({ (it as ExampleRequest).id }, ::itemProto)

private fun itemProto(number: Int): ExampleResponse1 = ExampleResponse1.newBuilder()
    .setId(number)
    .setCommon(ExampleCommonMessage.newBuilder().setId(number))
    .setMessage(
        ExampleMessage.newBuilder()
            .setDouble(number + 0.5)
            .setFloat(number + 0.5f)
            .setInt(number)
            .setLong(number.toLong())
            .setBoolean(true)
            .setString("string$number")
            .setEnum(ExampleEnum.ONE)
            .putMap("key$number", number),
    )
    .setDescription("description$number")
    .build()

internal fun recordsProto(n: Int): Handler {
    val all = rows().map(::recordProto)
    return sized(n, all.size, "count", { (it as RecordsRequest).count }) {
        RecordsReply.newBuilder().addAllRecords(all.take(it)).build()
    }
}

private fun recordProto(cells: List<String?>): Record = Record.newBuilder().apply {
    cells[0]?.let(this::setAirportName)
    cells[1]?.let(this::setAircraftMakeModel)
    cells[2]?.let(this::setEffectAmountOfDamage)
    cells[3]?.let(this::setFlightDate)
    cells[4]?.let(this::setAircraftAirlineOperator)
    cells[5]?.let(this::setOriginState)
    cells[6]?.let(this::setPhaseOfFlight)
    cells[7]?.let(this::setWildlifeSize)
    cells[8]?.let(this::setWildlifeSpecies)
    cells[9]?.let(this::setTimeOfDay)
    cells[10]?.toInt()?.let(this::setCostOther)
    cells[11]?.toInt()?.let(this::setCostRepair)
    cells[12]?.toInt()?.let(this::setCostTotal)
    cells[13]?.toInt()?.let(this::setSpeedIasInKnots)
}.build()

internal fun profileProto(request: Any): Any {
    val id = (request as GetMemberProfileRequest).userId
    val info = GetMemberProfileInfo.newBuilder()
        .setId(id).setEmail("m$id@uni.edu").setProfileImage("$id.png").setNickname("m$id")
    return GetMemberProfileResponse.newBuilder().setInfo(info).build()
}

internal fun followersProto(request: Any, n: Int): Any =
    GetFollowerResponse.newBuilder().addAllUserId(followers((request as GetFollowerRequest).userId, n)).build()
