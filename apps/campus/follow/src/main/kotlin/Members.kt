package campus.follow

import org.springframework.data.neo4j.core.schema.Id
import org.springframework.data.neo4j.core.schema.Node
import org.springframework.data.neo4j.core.schema.Relationship
import org.springframework.data.neo4j.repository.Neo4jRepository
import org.springframework.data.neo4j.repository.query.Query
import org.springframework.transaction.annotation.Transactional

@Node("MemberNode")
class MemberNode(
    @Id val memberId: Long,
    @Relationship(type = "FOLLOWS", direction = Relationship.Direction.INCOMING) val followers: Set<MemberNode>,
)

interface MemberNodeRepository : Neo4jRepository<MemberNode, Long> {
    /** Ids only: the members' nodes have nothing else that a feed needs. */
    @Transactional(readOnly = true)
    @Query(
        "MATCH (follower:MemberNode)-[:FOLLOWS]->(:MemberNode {memberId: \$id}) " +
            "RETURN follower.memberId ORDER BY follower.memberId",
    )
    fun findFollowerIds(id: Long): List<Long>
}
